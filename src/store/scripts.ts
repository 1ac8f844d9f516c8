/** Duty: the descriptors of all scripts, one line each key and argument, as the header of each Lua file has them. */
import { defineScript } from './script.ts'

export const spawnScript = defineScript({
  file: 'spawn.lua',
  keys: ['session', 'record', 'user', 'sessions', 'run', 'bells', 'busy', 'slots', 'events', 'idem'],
  args: [
    'sessionId',
    'worker',
    'kind',
    'name',
    'pool',
    'mode',
    'mail',
    'idemMs',
    'workersMax',
    'childrenMax',
    'depthMax',
    'mailboxMax',
    'seed',
    'bellMs',
    'event',
    'eventsKept',
  ],
})

export const postScript = defineScript({
  file: 'post.lua',
  keys: ['record', 'user', 'run', 'events', 'idem'],
  args: ['worker', 'mail', 'idemMs', 'seed', 'bellMs', 'event', 'eventsKept'],
})

export const claimScript = defineScript({
  file: 'claim.lua',
  keys: ['run', 'leases', 'grants', 'bells', 'busy', 'slots'],
  args: [
    'pool',
    'bell',
    'node',
    'slot',
    'nonce',
    'kinds',
    'maySuspect',
    'wasBusy',
    'leaseMs',
    'bellMs',
    'mailBytes',
    'suspectAfter',
    'poisonAfter',
    'leave',
    'seed',
  ],
})

export const commitScript = defineScript({
  file: 'commit.lua',
  keys: [
    'record',
    'log',
    'session',
    'cancelled',
    'control',
    'family',
    'user',
    'stateKey',
    'failureKey',
    'leases',
    'run',
    'bells',
    'busy',
    'slots',
    'grants',
    'events',
    'timers',
    'workers',
  ],
  args: [
    'worker',
    'token',
    'sequence',
    'version',
    'fsm',
    'open',
    'attempt',
    'controlUsed',
    'userUsed',
    'familyUsed',
    'familySeen',
    'stateMode',
    'state',
    'failure',
    'outcome',
    'result',
    'dead',
    'wait',
    'retryMs',
    'event',
    'eventsKept',
    'deadKept',
    'awaits',
    'timersOpen',
    'leaseMs',
    'bell',
    'bellMs',
    'seed',
    'nonce',
    'slot',
    'node',
    'kinds',
    'maySuspect',
    'wasBusy',
    'mailBytes',
    'suspectAfter',
    'poisonAfter',
    'entries',
  ],
})

export const renewScript = defineScript({
  file: 'renew.lua',
  keys: ['leases', 'events'],
  args: ['leaseMs', 'bellMs', 'seed', 'turns'],
})

export const sweepScript = defineScript({
  file: 'sweep.lua',
  keys: ['meta', 'leases', 'nodes', 'events'],
  args: ['node', 'slots', 'facts', 'leaseMs', 'bellMs', 'batch', 'forgottenMs', 'everyMs', 'seed', 'leaving', 'pools'],
})

export const fireScript = defineScript({
  file: 'fire.lua',
  keys: ['timers', 'events'],
  args: ['batch', 'seed', 'bellMs', 'eventsKept'],
})

export const cancelScript = defineScript({
  file: 'cancel.lua',
  keys: ['session', 'cancelled', 'cancelling', 'events'],
  args: ['sessionId', 'reason', 'hint', 'event', 'eventsKept'],
})

export const finishScript = defineScript({
  file: 'finish.lua',
  keys: ['session', 'cancelled', 'cancelling', 'workers', 'timers', 'events'],
  args: ['sessionId', 'from', 'batch', 'running', 'eventsKept', 'entry', 'seed', 'bellMs'],
})

export const closeScript = defineScript({
  file: 'close.lua',
  keys: ['session', 'events'],
  args: ['sessionId', 'eventsKept'],
})

export const pruneScript = defineScript({
  file: 'prune.lua',
  keys: ['sessions', 'cancelling'],
  args: ['retentionMs', 'cursor', 'batch'],
})
