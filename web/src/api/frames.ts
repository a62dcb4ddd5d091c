/** One server-sent event. */
export interface Frame {
  kind: string;
  data: string;
  id: string | null;
}

/** Parses server-sent events from a stream that arrives in arbitrary pieces. */
export class Frames {
  #rest = "";
  #kind = "";
  #data: string[] = [];
  #id: string | null = null;

  /** Adds a piece and returns the events that are now complete. */
  push(piece: string): Frame[] {
    const whole: Frame[] = [];
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const frame = this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (frame) whole.push(frame);
    }
    return whole;
  }

  #line(line: string): Frame | null {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "event") this.#kind = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
    return null;
  }

  #end(): Frame | null {
    const frame = { kind: this.#kind || "message", data: this.#data.join("\n"), id: this.#id };
    const isEvent = this.#kind !== "" || this.#data.length > 0;
    this.#kind = "";
    this.#data = [];
    return isEvent ? frame : null;
  }
}
