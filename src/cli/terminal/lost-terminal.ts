/** Duty: a terminal that goes away while somebody reads it, such as a window that is closed. SIGHUP says so to the command. */

/** A reader of a stream that has ended already would wait for its end for ever. */
export function hasEnded(stdin: Pick<NodeJS.ReadStream, 'readableEnded' | 'destroyed'>): boolean {
  return stdin.readableEnded || stdin.destroyed
}

const survived = new WeakSet<object>()

/** From now on no error of this terminal, or of its reader, ends the process: to set the mode of a terminal that is gone is such an error. */
export function surviveLoss(terminal: Pick<NodeJS.EventEmitter, 'on'>): void {
  if (survived.has(terminal)) return
  survived.add(terminal)
  terminal.on('error', () => {})
}
