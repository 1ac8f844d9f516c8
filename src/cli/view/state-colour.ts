/** Duty: one colour for each meaning of a state, wherever a state is shown. */
import { paint } from '../terminal/output.ts'

const styles: Readonly<Record<string, 'green' | 'red' | 'yellow' | 'cyan' | 'dim'>> = {
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

/** `cell` may be padded or cut; `state` says what it means. */
export function paintState(cell: string, state: string, stream: NodeJS.WriteStream = process.stdout): string {
  const style = styles[state]
  return style === undefined ? cell : paint(style, cell, stream)
}
