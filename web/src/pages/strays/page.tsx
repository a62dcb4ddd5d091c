export function StraysPage(_: { parts: string[] }) {
  return (
    <div class="page-head">
      <h1>Strays</h1>
    </div>
  );
}
