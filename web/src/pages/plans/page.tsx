import "./plans.css";

import { PlanBoard } from "./board.tsx";
import { PlanList } from "./list.tsx";

/** `/plans` and `/plans/ID`. */
export function PlansPage({ parts: [id] }: { parts: string[] }) {
  return id === undefined ? <PlanList /> : <PlanBoard key={id} id={id} />;
}
