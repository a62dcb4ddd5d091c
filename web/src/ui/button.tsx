import type { ComponentChildren } from "preact";

import { Icon, type IconName } from "./icons.tsx";

interface Props {
  children?: ComponentChildren;
  icon?: IconName;
  kind?: "primary" | "danger" | "danger primary" | "plain";
  compact?: boolean;
  /** What it does, if it shows an icon only, or more of it. */
  label?: string;
  disabled?: boolean;
  /** Why it can't be pressed, or a word on it. */
  title?: string;
  type?: "button" | "submit";
  pressed?: boolean;
  expanded?: boolean;
  onClick?: (event: MouseEvent) => void;
}

export function Button({ children, icon, kind, compact, label, disabled, title, type, pressed, expanded, onClick }: Props) {
  const look = ["button", kind, compact && "compact", !children && "icon-only"].filter(Boolean).join(" ");
  return (
    <button
      type={type ?? "button"}
      class={look}
      disabled={disabled}
      aria-label={label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      title={title ?? (children ? undefined : label)}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
