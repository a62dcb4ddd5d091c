export function DoctorPage(_: { parts: string[] }) {
  return (
    <div class="page-head">
      <h1>Doctor</h1>
    </div>
  );
}
