export function WorktreesPage(_: { parts: string[] }) {
  return (
    <div class="page-head">
      <h1>Worktrees</h1>
    </div>
  );
}
