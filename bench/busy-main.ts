/**
 * Duty: the program of a busy process: it uses one core until its parent is gone. Started by measure/busy-cores.ts.
 * It computes in slices, because a process that never returns to its event loop would not notice that its parent has died.
 */

const sliceMs = 20

function beBusy(): void {
  const end = performance.now() + sliceMs
  while (performance.now() < end);
  setImmediate(beBusy)
}

process.once('disconnect', () => process.exit(0))
process.send?.('busy')
beBusy()
