/** Duty: the styles of text, and one style for each meaning of a state, wherever a state is shown. */

export type Style = 'green' | 'red' | 'yellow' | 'cyan' | 'dim'

/** Applies a style to a text, or returns the text unchanged where styles are not wanted. */
export type Paint = (style: Style | undefined, text: string) => string

const styles: Readonly<Record<string, Style>> = {
  active: 'cyan',
  working: 'cyan',
  requesting: 'cyan',
  receiving: 'cyan',
  usingTool: 'cyan',
  running: 'cyan',
  waiting: 'yellow',
  cancelling: 'yellow',
  completed: 'green',
  done: 'green',
  failed: 'red',
  damaged: 'red',
  inactiveFailed: 'red',
  cancelled: 'dim',
  inactive: 'dim',
}

export function stateStyle(state: string): Style | undefined {
  return styles[state]
}
