export function SessionPage(_: { parts: string[] }) {
  return (
    <div class="page-head">
      <h1>Session</h1>
    </div>
  );
}
