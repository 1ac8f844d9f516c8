/**
 * Loaded into a program of fault tests before itself (`--import`): its wall clock is wrong by TROUPE_CLOCK_OFF_MS. With
 * TROUPE_CLOCK_JUMP_MS it jumps that often, and is wrong by as much forwards and backwards in turn. Monotonic clocks stay as they are.
 */
const offMs = Number(process.env.TROUPE_CLOCK_OFF_MS)
const jumpMs = Number(process.env.TROUPE_CLOCK_JUMP_MS ?? 0)
const RightDate = Date

function now(): number {
  const isBackwards = jumpMs > 0 && Math.floor(performance.now() / jumpMs) % 2 === 1
  return RightDate.now() + (isBackwards ? -offMs : offMs)
}

globalThis.Date = new Proxy(RightDate, {
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
  construct: (target, given: unknown[]) => Reflect.construct(target, given.length === 0 ? [now()] : given) as Date,
  apply: () => new RightDate(now()).toString(),
})
