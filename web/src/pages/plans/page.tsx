export function PlansPage(_: { parts: string[] }) {
  return (
    <div class="page-head">
      <h1>Plans</h1>
    </div>
  );
}
