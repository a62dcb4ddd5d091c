export function EventsPage(_: { parts: string[] }) {
  return (
    <div class="page-head">
      <h1>Events</h1>
    </div>
  );
}
