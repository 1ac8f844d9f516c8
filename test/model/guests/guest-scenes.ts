/**
 * Which runs meet at gates of another partition, and what goes wrong there. Each scene is searched to its last state. Where a call comes twice and late, a
 * place may be kept for a run that is over until somebody looks at the gate: only there a look at the gate helps (`heals`).
 */
import type { Scene } from './guest-world.ts'

const guest = (key = 'a', runs = 1) => ({ isGuest: true, key, runs })
const local = (key = 'a', runs = 1) => ({ isGuest: false, key, runs })

export const guestScenes: readonly Scene[] = [
  { name: 'two guests', limits: { runs: 1 }, workers: [guest(), guest()], callsMost: 2 },
  { name: 'a guest that comes again', limits: { runs: 1 }, workers: [guest('a', 2), local()], callsMost: 2 },
  {
    name: 'calls that come twice',
    limits: { runs: 1 },
    workers: [guest('a', 2)],
    callsMost: 2,
    faults: { twice: 1 },
    heals: true,
  },
  {
    name: 'guests that are cancelled',
    limits: { runs: 1 },
    workers: [guest(), local()],
    callsMost: 2,
    faults: { cancels: 1 },
  },
  { name: 'two keys', limits: { runs: 1 }, workers: [guest('a'), guest('b')], callsMost: 1 },
  { name: 'a rate', limits: { rate: 1 }, workers: [guest(), guest()], callsMost: 1 },
  { name: 'a rate beside a limit', limits: { runs: 1, rate: 1 }, workers: [guest(), local()], callsMost: 2 },
  { name: 'a lost past', limits: { runs: 1 }, workers: [guest(), guest()], callsMost: 1, faults: { forgets: 1 } },
]
