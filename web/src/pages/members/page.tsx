export function MembersPage(_: { parts: string[] }) {
  return (
    <div class="page-head">
      <h1>Members</h1>
    </div>
  );
}
