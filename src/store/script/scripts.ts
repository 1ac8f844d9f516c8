/** Duty: the descriptors of all scripts: keys and arguments by name, as the header of each Lua file has them. */
import { defineScript } from './script.ts'

const words = <const Text extends string>(text: Text) => text.split(' ') as unknown as readonly Words<Text>[]
type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text

export const createSessionsScript = defineScript({
  file: 'create-sessions.lua',
  keys: words('sessions ends events'),
  header: words('wakeupMs seed partitions sessions'),
  fields: {
    sessions: words(
      'session kind pool name mode limits permissions configured caps approval turnShare notify branchOf key asked keyMs entries sent blobs rests',
    ),
  },
  args: words('texts'),
})

export const postScript = defineScript({
  file: 'post.lua',
  keys: words('record inbox run events idem'),
  header: words('worker idemMs seed wakeupMs asked when'),
  args: words('mail event'),
})

/** What the claims of a node have in common. */
const nodeFields = words('id leaseMs mailBytes suspectAfter poisonAfter kinds')
const kindsFields = words('pool list')

export const claimScript = defineScript({
  file: 'claim.lua',
  keys: words('run leases claims wakeups busy'),
  header: words('pool wakeup slot nonce maySuspect wasBusy keepWakeup wakeupMs node'),
  fields: { node: nodeFields, kinds: kindsFields },
  args: [],
})

export const commitScript = defineScript({
  file: 'commit.lua',
  keys: words('leases events'),
  header: words('wakeupMs seed node commits'),
  fields: {
    node: nodeFields,
    kinds: kindsFields,
    commits: words(
      'texts entries worker token sequence version event runState open inputsConsumed signalsConsumed resultsConsumed largeTaken resultsSeen steersTaken steersUnseenFrom pendingCalls pendingCount openChildren signalsOpen steps attempt state stateKey configured failure clearsFailure outcome result dead deadKept costs atOnce spawns inline sends timers asks withdraws cancels wait retryMs isUncounted isIsolated turnMs leave wasBusy claim',
    ),
    costs: words('model tokensIn tokensOut micros'),
    spawns: words('id kind pool call mail more name permissions detached offered'),
    inline: words('slot nonce'),
    sends: words('worker mail reach when'),
    timers: words('id ms value'),
    asks: words('id sort body ms onExpiry'),
    withdraws: words('id'),
    cancels: words('id'),
    claim: words('wakeup slot nonce maySuspect wasBusy keepWakeup'),
  },
  args: words('texts'),
})

export const enterScript = defineScript({
  file: 'enter.lua',
  keys: words('record leases gates'),
  header: words('worker token at guest'),
  fields: { at: words('sort id key most perMs') },
  args: [],
})

export const hostScript = defineScript({
  file: 'host.lua',
  keys: words('gates'),
  header: words('guest standing ancestors at'),
  fields: { ancestors: words('id'), at: words('sort id key most perMs') },
  args: [],
})

export const guestScript = defineScript({
  file: 'guest.lua',
  keys: words('record gates'),
  args: words('guest says seed wakeupMs'),
})

export const renewScript = defineScript({
  file: 'renew.lua',
  keys: words('leases events'),
  header: words('leaseMs wakeupMs seed turns'),
  fields: { turns: words('worker token wakeup becomesBusy quiet runState') },
  args: [],
})

export const releaseScript = defineScript({
  file: 'release.lua',
  keys: words('leases nodes events'),
  header: words('node wakeupMs seed ends event turns author'),
  fields: { turns: words('worker token isCounted isIsolated') },
  args: words('words'),
})

export const announceScript = defineScript({
  file: 'announce.lua',
  keys: words('kinds pools nodes leases meta'),
  header: words('node slots hosts pools'),
  args: words('facts texts'),
})

export const sweepScript = defineScript({
  file: 'sweep.lua',
  keys: words('meta leases nodes events pools'),
  header: words('node slots leaseMs wakeupMs batch forgottenMs everyMs seed leaving eventsKept eventsBytes pools'),
  fields: { pools: words('name kinds free workersPerWake') },
  args: words('facts'),
})

export const restScript = defineScript({
  file: 'rest.lua',
  keys: words('meta nodes pools timers leases cancelling'),
  args: words('node'),
})

export const fireScript = defineScript({
  file: 'fire.lua',
  keys: words('timers events gates'),
  args: words('batch seed wakeupMs told'),
})

export const deliverScript = defineScript({
  file: 'deliver.lua',
  keys: words('received'),
  header: words('from seed wakeupMs mails'),
  fields: { mails: words('number worker when') },
  args: words('texts'),
})

export const deliveredScript = defineScript({
  file: 'delivered.lua',
  keys: words('out events'),
  header: words('numbers last refused'),
  fields: { refused: words('number about') },
  args: words('notes'),
})

export const answerScript = defineScript({
  file: 'answer.lua',
  keys: words('record events'),
  header: words('ask key asked by seed wakeupMs'),
  args: words('answer event'),
})

export const cancelScript = defineScript({
  file: 'cancel.lua',
  keys: words('root cancelled cancelling events'),
  args: words('sessionId reason channel event why'),
})

export const pauseScript = defineScript({
  file: 'pause.lua',
  keys: words('root leases events idem workers'),
  header: words('sessionId channel idemMs from'),
  args: words('note event'),
})

export const resumeScript = defineScript({
  file: 'resume.lua',
  keys: words('root held quiet events idem'),
  args: words('sessionId seed wakeupMs event idemMs'),
})

export const pauseAllScript = defineScript({
  file: 'pause-all.lua',
  keys: words('meta idem'),
  args: words('note channel idemMs'),
})

export const cancelWorkerScript = defineScript({
  file: 'cancel-worker.lua',
  keys: words('record cancelling events idem'),
  header: words('worker what run idemMs'),
  args: words('reason channel event'),
})

export const finishScript = defineScript({
  file: 'finish.lua',
  keys: words('root cancelled cancelling workers timers events'),
  header: words('sessionId batch agents seed wakeupMs'),
  fields: { agents: words('id version entries') },
  args: words('entry texts'),
})

export const redriveScript = defineScript({
  file: 'redrive.lua',
  keys: words('record inbox dead redriven run events'),
  args: words('worker letter seed wakeupMs event'),
})

export const dismissScript = defineScript({
  file: 'dismiss.lua',
  keys: words('dead redriven'),
  args: words('worker letter'),
})

export const closeScript = defineScript({
  file: 'close.lua',
  keys: words('root events ends'),
  args: words('sessionId note event'),
})

export const limitScript = defineScript({
  file: 'limit.lua',
  keys: words('root events idem'),
  header: words('sessionId modelCalls tokens toolCalls start idemMs from'),
  args: words('event'),
})

export const approvalScript = defineScript({
  file: 'approval.lua',
  keys: words('root events idem'),
  header: words('sessionId policy tool start idemMs'),
  args: words('event'),
})

export const retryScript = defineScript({
  file: 'retry.lua',
  keys: words('root log signals inbox failure results dead redriven run events'),
  header: words(
    'sessionId version run runState calls steps entries modelCalls tokens toolCalls start letter seed wakeupMs',
  ),
  args: words('event mail texts'),
})

export const amendScript = defineScript({
  file: 'amend.lua',
  keys: words('record log events'),
  header: words('worker version position key keyMs'),
  args: words('event entry'),
})

export const pruneScript = defineScript({
  file: 'prune.lua',
  keys: words('ends cancelling meta sessions'),
  header: words('retentionMs from passed batch node everyMs'),
  args: [],
})

export const forgetKindsScript = defineScript({
  file: 'forget-kinds.lua',
  keys: words('kinds nodes pools meta former'),
  args: words('forgottenMs everyMs most'),
})

export const coldScript = defineScript({
  file: 'cold.lua',
  keys: words('ends meta'),
  header: words('node done coldMs everyMs restMs batch growsTo'),
  args: [],
})

export const packScript = defineScript({
  file: 'pack.lua',
  keys: words('record log'),
  header: words('from packed entries'),
  args: words('pack newest'),
})

export const cutScript = defineScript({
  file: 'cut.lua',
  keys: words('root workers timers cancelling'),
  header: words('session from seen workersMost partMost bytesMost'),
  args: [],
})

export const prepareForkScript = defineScript({
  file: 'prepare-fork.lua',
  keys: words('root'),
  header: words('keptMs parts'),
  fields: { parts: words('key sort from texts') },
  args: words('texts'),
})

export const forkScript = defineScript({
  file: 'fork.lua',
  keys: words('root sessions events timers asks cancelling ends'),
  header: words('session from seed wakeupMs workers keys due open isCancelling key keyMs'),
  fields: { workers: words('id queued') },
  args: words('event told'),
})

export const keepBlobScript = defineScript({
  file: 'keep-blob.lua',
  keys: words('root blobs blob sent'),
  header: words('blob mediaType bytes bytesMost countMost'),
  args: [],
})

export const endpointScript = defineScript({
  file: 'endpoint.lua',
  keys: words('endpoints'),
  args: words('id before after most'),
})

export const giveScript = defineScript({
  file: 'give.lua',
  keys: words('given request'),
  header: words('more most knownMs'),
  args: [],
})

export const listenScript = defineScript({ file: 'listen.lua', keys: words('since'), args: words('id listens') })

export const rightsScript = defineScript({ file: 'rights.lua', keys: words('meta'), args: words('channel') })

export const lookScript = defineScript({
  file: 'look.lua',
  keys: words('leases timers sessions cancelling ends'),
  header: words('session workers pools headBytes budget'),
  args: [],
})
