import type { ComponentChildren } from "preact";

import { Icon, type IconName } from "./icons.tsx";

interface Props {
  children?: ComponentChildren;
  icon?: IconName;
  kind?: "primary" | "danger" | "danger primary" | "plain";
  compact?: boolean;
  /** The accessible name, for buttons with only an icon or too short a text. */
  label?: string;
  disabled?: boolean;
  /** The tooltip, for example why the button is disabled. */
  title?: string;
  type?: "button" | "submit";
  pressed?: boolean;
  expanded?: boolean;
  onClick?: (event: MouseEvent) => void;
}

export function Button({ children, icon, kind, compact, label, disabled, title, type, pressed, expanded, onClick }: Props) {
  const classes = ["button", kind, compact && "compact", !children && "icon-only"].filter(Boolean).join(" ");
  return (
    <button
      type={type ?? "button"}
      class={classes}
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
