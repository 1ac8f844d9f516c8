/** Duty: the page that lines are made for: its width, the styles of its text, and the style of each state. */

export type Style = 'green' | 'red' | 'yellow' | 'cyan' | 'dim'

/** Applies a style to a text, or returns the text unchanged where styles are not wanted. */
export type Paint = (style: Style | undefined, text: string) => string

export interface Page {
  /** How many columns the terminal has; Infinity without one. */
  readonly columns: number
  readonly paint: Paint
}

const styles: Readonly<Record<string, Style>> = {
  active: 'cyan',
  queued: 'dim',
  working: 'cyan',
  thinking: 'cyan',
  answering: 'cyan',
  'using a tool': 'cyan',
  waiting: 'yellow',
  paused: 'yellow',
  cancelling: 'yellow',
  completed: 'green',
  done: 'green',
  failed: 'red',
  'put aside': 'red',
  damaged: 'red',
  cancelled: 'dim',
}

export function stateStyle(state: string): Style | undefined {
  return styles[state]
}
