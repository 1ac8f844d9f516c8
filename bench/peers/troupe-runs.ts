/** Duty: troupe as a contestant: agent runs and trees, each with wake-ups over BullMQ and without BullMQ (the bound). */
import { agentAnswer, agentQuestion, expectedTreeAnswer, treeQuestion } from '../agent-script.ts'
import { type Contestant, type OpenContestant, type Place, runsInFlight, slots, treesInFlight } from '../contestant.ts'
import { openTroupe, type TroupeOptions, type TroupeUnderTest } from '../troupe.ts'
import { benchKinds } from '../troupe-kinds.ts'

type Wakeups = TroupeOptions['wakeups']

export const troupeAgent: Contestant = {
  id: 'agent',
  name: 'troupe, run of two recorded steps',
  unit: 'run',
  inFlight: runsInFlight,
  slots,
  open: (place) => openWith(place, 'bullmq', performAgent),
}

export const boundAgent: Contestant = {
  id: 'agent-bound',
  name: 'troupe without BullMQ (bound), the same run',
  unit: 'run',
  inFlight: runsInFlight,
  slots,
  open: (place) => openWith(place, 'in-process', performAgent),
}

export const troupeTree: Contestant = {
  id: 'tree',
  name: 'troupe, tree of 1 + 10',
  unit: 'tree',
  inFlight: treesInFlight,
  slots,
  open: (place) => openWith(place, 'bullmq', performTree),
}

export const boundTree: Contestant = {
  id: 'tree-bound',
  name: 'troupe without BullMQ (bound), the same tree',
  unit: 'tree',
  inFlight: treesInFlight,
  slots,
  open: (place) => openWith(place, 'in-process', performTree),
}

/** A handler that replies at once, one run at a time. */
export const idleRun: Contestant = {
  id: 'idle-run',
  name: 'troupe, submit → result',
  unit: 'run',
  inFlight: 1,
  slots,
  open: (place) => openWith(place, 'bullmq', performEcho),
}

export function openBenchTroupe(place: Place, wakeups: Wakeups = 'bullmq'): Promise<TroupeUnderTest> {
  return openTroupe({ ...place, kinds: benchKinds, concurrency: slots, wakeups })
}

async function openWith(
  place: Place,
  wakeups: Wakeups,
  perform: (troupe: TroupeUnderTest) => Promise<void>,
): Promise<OpenContestant> {
  const troupe = await openBenchTroupe(place, wakeups)
  return { perform: () => perform(troupe), close: () => troupe.close() }
}

async function performEcho(troupe: TroupeUnderTest): Promise<void> {
  await troupe.run('echo', 'ping')
}

async function performAgent(troupe: TroupeUnderTest): Promise<void> {
  if ((await troupe.runAgent(agentQuestion)) !== agentAnswer) throw new Error('The agent gave another answer.')
}

async function performTree(troupe: TroupeUnderTest): Promise<void> {
  if ((await troupe.run('parent', treeQuestion)) !== expectedTreeAnswer)
    throw new Error('The tree gave another answer.')
}
