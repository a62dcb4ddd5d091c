export function SessionsPage(_: { parts: string[] }) {
  return (
    <div class="page-head">
      <h1>Sessions</h1>
    </div>
  );
}
