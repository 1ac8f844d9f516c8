/**
 * The moments at which a process of a fault test can be made to die, each by its name and by the line of docs/protocol.md ("What heals
 * what") that it stands for. programs/preload/crash-hook.ts passes them; nothing in src knows of them.
 */

export type CrashHost = 'node' | 'client'

export interface CrashPoint {
  readonly name: string
  readonly line: string
  readonly host: CrashHost
  readonly when: string
  /** Up to how many times it may be passed before the one that kills; more is more luck than a short run has. */
  readonly nthMax: number
}

const point = (name: string, line: string, when: string, nthMax = 1, host: CrashHost = 'node'): CrashPoint => ({
  name,
  line,
  when,
  nthMax,
  host,
})

export const crashPoints: readonly CrashPoint[] = [
  point('create-sessions.asked', 'K1', 'the request for a session is on its way', 4, 'client'),
  point('create-sessions.answered', 'K2', 'a session is stored, its wake-up is not sent', 4, 'client'),
  point('post.asked', 'K1', 'a message is on its way', 4, 'client'),
  point('post.answered', 'K2', 'a message is stored, its wake-up is not sent', 4, 'client'),
  point('answer.asked', 'K1', 'an answer is on its way', 3, 'client'),
  point('answer.answered', 'K2', 'an answer is stored, its wake-up is not sent', 3, 'client'),
  point('claim.before', 'K5', 'a wake-up was taken, nothing is claimed', 2),
  point('claim.assigned', 'K6', 'a worker was claimed, nothing is done', 2),
  point('receive', 'K7', 'the handler has begun', 6),
  point('effect', 'K10', 'the handler has done something outside', 6),
  point('commit.before', 'K8', 'the handler has ended, nothing is sent', 8),
  point('commit.asked', 'K11', 'a commit is on its way, or was executed', 8),
  point('commit.step', 'K9', 'a step in mid-turn is recorded'),
  point('commit.end', 'K12', 'the end of a turn is recorded, no wake-up is sent', 6),
  point('wake', 'K12', 'wake-ups were answered and are not sent', 2),
  point('renew.before', 'K6', 'a lease is about to be renewed'),
  point('renew.answered', 'K6', 'a lease was renewed, its wake-ups are not sent'),
  point('sweep.before', 'K6', 'a sweep is about to begin', 3),
  point('sweep.answered', 'K2', 'a sweep has put wake-ups that only this node knows', 3),
  point('fire.before', 'K12', 'timers and asks are due, nothing is posted', 3),
  point('fire.asked', 'K12', 'timers and asks are about to end, or have ended', 3),
  point('fire.answered', 'K12', 'timers were posted, no wake-up is sent', 3),
  point('finish.before', 'K22', 'a cancel is about to be finished'),
  point('finish.asked', 'K22', 'a cancel is about to be finished, or is finished in part', 2),
  point('finish.answered', 'K22', 'a cancel was finished in part'),
  point('reply.before', 'K8', 'a model has answered, the reply is not recorded', 4),
  point('reply.recorded', 'K9', 'a reply is recorded, its tools have not run', 4),
  point('drain', 'K23', 'a node that was told to stop is about to commit'),
]

/** The crash points that are tried for runs of a kind with a gate, and whose work passes them often. */
export const gatePoints: readonly CrashPoint[] = [
  point('enter.before', 'K6', 'a run is about to ask at its gate', 4),
  point('enter.asked', 'K6', 'a run has asked, and may have begun or wait', 4),
  point('enter.answered', 'K6', 'a run was let in or waits, and its node does not know', 4),
  ...crashPoints.filter(({ name }) =>
    [
      'claim.assigned',
      'receive',
      'effect',
      'commit.asked',
      'commit.end',
      'fire.before',
      'fire.asked',
      'fire.answered',
      'sweep.answered',
      'finish.asked',
    ].includes(name),
  ),
]

/** The crash points that are tried for runs whose gates are in another partition. */
export const guestPoints: readonly CrashPoint[] = [
  point('host.before', 'K6', 'a run is about to ask at its gate in another partition, or is over', 4),
  point('host.asked', 'K6', 'a run has asked in another partition, and may hold a place there', 4),
  point('host.answered', 'K6', 'a run has an answer of another partition, and its own does not know', 4),
  point('enter.answered', 'K6', 'a run was let in or waits, and its node does not know', 4),
  point('guest.before', 'K6', 'a run may begin, and its partition does not know'),
  point('guest.asked', 'K6', 'the partition of a run is told that it may begin, or may forget it'),
  point('guest.answered', 'K6', 'the partition of a run was told, and the one with the gates does not know'),
  ...gatePoints.filter(({ name }) => ['claim.assigned', 'commit.end', 'fire.answered', 'finish.asked'].includes(name)),
]

export function crashPoint(name: string): CrashPoint {
  const found = [...crashPoints, ...gatePoints, ...guestPoints].find((one) => one.name === name)
  if (!found)
    throw new Error(`There is no crash point "${name}"; there are ${crashPoints.map((one) => one.name).join(', ')}.`)
  return found
}
