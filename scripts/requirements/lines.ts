/**
 * Duty: the behaviours of the five designs that troupe was built from, one line each, by their stable numbers.
 * DESIGN-LINES-1 A line says in our own words what the design does. What troupe does instead stands in `otherwise`, with the reason.
 * DESIGN-LINES-2 A line with `part` belongs to a part that is not built yet. A line loses `part` with the first test that shows it whole.
 */

/** The parts that are not built yet, to which lines that no test shows belong. */
export const parts = {
  compaction: 'Compaction, trimming and limits of a history',
  branching: 'Checkpoints, branches and undo',
  context: 'Files, hooks and other context that nobody said',
  loop: 'Further behaviours of the loop of an agent',
  steering: 'Operations on sessions and workers',
  surface: 'Events and interfaces for programs and pages',
  supervision: 'Supervision, roles and definitions',
} as const
export type Part = keyof typeof parts

export interface Line {
  readonly id: string
  readonly says: string
  readonly otherwise?: string
  readonly part?: Part
}

export const designs = [
  'A chat context (demo)',
  'Workers, sessions and jobs of an agent environment',
  'The iteration pipeline of an agent',
  'The state machine of a context, and its tools',
  'Messages and the context of a conversation',
] as const

/** In the order of their numbers. The first digit is the design. */
export const lines: readonly Line[] = [
  {
    id: '0.1',
    says: 'A context has messages in order and an action. It begins empty, with a system message, or with a conversation.',
  },
  { id: '0.2', says: 'An interface reads and extends a context; it has the last message and its text.' },
  { id: '0.3', says: 'An empty context has no last message, and asking for it throws nothing.' },
  { id: '0.4', says: 'Messages are made for each role. Only the result of a tool names a call.' },
  { id: '0.5', says: 'A context gives one JSON value for each message, without the action.' },
  { id: '0.6', says: 'Actions are equal if they are the same word, or call the same tool.' },
  {
    id: '0.7',
    says: 'After a reply the action is set from what the reply asks for.',
    otherwise:
      'the action follows from the open calls of the history and is stored nowhere, so it cannot contradict them',
  },
  {
    id: '0.8',
    says: 'The loop asks the model until the action is to stop.',
    otherwise: 'the design has no bound; here a run has one',
  },
  { id: '0.9', says: 'A reply from which no action can be read stops the loop.' },
  { id: '0.10', says: 'A prompt ends with what the model has to answer: a user message or results.' },
  { id: '0.11', says: 'A fence around a structured reply is removed before it is read.' },
  { id: '0.12', says: 'A context has a system prompt, skills and a history of its own.' },

  { id: '1.1', says: 'A worker has an id, a name, a context container, a model, a state and a last failure.' },
  { id: '1.2', says: 'A worker is in one of seven fine states. It is receiving from the first byte of a reply on.' },
  { id: '1.3', says: 'A worker is idle, busy, or idle after a failure, and a failed one can be used again.' },
  { id: '1.4', says: 'Each change of state goes to all followers.' },
  { id: '1.5', says: 'The last failure is set by a failure, not by a cancel, and is gone when the next run begins.' },
  {
    id: '1.6',
    says: 'A worker is stored as id, name and context, and read back with the rest at its defaults.',
  },
  { id: '1.7', says: 'A run leaves metadata under names of their own space.' },
  { id: '1.8', says: 'The model of a worker can be switched while it is inactive.' },
  { id: '1.9', says: 'A history has entries with exactly one side, and takes inputs and replies one by one.' },
  {
    id: '1.10',
    says: 'A run needs an input, and the prompt ends with it.',
    otherwise: 'inputs in a row are one user message of the prompt instead of an error',
  },
  { id: '1.11', says: 'A run that succeeds adds its answer to the history; one that fails or is cancelled adds none.' },
  { id: '1.12', says: 'Files and globs are read when a request is built, and sent with their paths.' },
  { id: '1.13', says: 'A turn can be stored without an input.' },
  {
    id: '1.14',
    says: 'A session builds, lists and deletes workers.',
    otherwise:
      'to delete a worker is to cancel it for good, with all that it spawned; its record and history stay as evidence until its session is pruned.',
  },
  { id: '1.15', says: 'To start a run returns at once.' },
  { id: '1.16', says: 'Runs can be cancelled one by one or all, counted, and waited for.' },
  {
    id: '1.17',
    says: 'Only the newest of the ended jobs are kept; active ones always are.',
    otherwise: 'ended sessions are kept for a time, not a number: three would be gone before somebody looks',
  },
  {
    id: '1.18',
    says: 'A worker has one run at a time.',
    otherwise: 'the design lets two runs of one worker race; here the second waits in the mailbox',
  },
  {
    id: '1.19',
    says: 'A run ends as completed, cancelled or failed, and says whether a person is asked.',
    otherwise: 'a run that asks is not over: its report names the open asks',
  },
  { id: '1.20', says: 'A session learns of the end of a run what the run has recorded.' },
  {
    id: '1.21',
    says: 'A job is active until its work has really stopped.',
    otherwise:
      'a cancelled session is over once nothing more of it can be recorded; code that ignores its signal changes nothing',
  },
  { id: '1.22', says: 'A cancel takes effect before and during a request, and a partly received reply is dropped.' },
  { id: '1.23', says: 'A cancel wins over a result or a failure that comes after it.' },
  { id: '1.24', says: 'Callbacks by name are called when a run ends, at once if it has ended.' },
  { id: '1.25', says: 'The first Ctrl+C cancels, the second ends the process.' },
  { id: '1.26', says: 'A follower that is too slow is told how many events it missed.' },
  { id: '1.27', says: 'Events about workers, jobs, replies and calls come in a fixed order.' },
  {
    id: '1.28',
    says: 'A run says whether it ended ready for a prompt or with a request for a tool.',
    otherwise: 'a run that asks is not over: its state is AwaitingToolApproval',
  },
  {
    id: '1.29',
    says: 'A chat in the terminal has commands for compaction, usage, context and status.',
  },
  {
    id: '1.30',
    says: 'Without a terminal a run ends by itself, and warns of what waits for a person.',
    otherwise:
      'a run that asks a person waits as long as its session says, and the line names the command that answers',
  },
  {
    id: '1.31',
    says: 'A host gets states and pieces of a reply, and is asked to confirm a tool.',
  },
  {
    id: '1.32',
    says: 'Health, workers and one worker can be read over HTTP, and followed.',
    otherwise: 'health answers anybody, so it says no version; events come as server-sent events, past ones first',
  },
  { id: '1.33', says: 'A model is asked with callbacks for the first byte and each piece, and can be cancelled.' },
  { id: '1.34', says: 'A history can be written as complete pairs of user and assistant.' },
  {
    id: '1.35',
    says: 'Histories, messages, results and images have limits.',
    otherwise:
      'a history warns at 10 000 messages and is full at 50 000; images are limited as here, a message has 1 MiB with its media, and a result 100 000 bytes, which most windows can take',
  },
  {
    id: '1.36',
    says: 'A history is only cut before a user message without results.',
    otherwise:
      'a prompt is cut before a message of a user or a reply, never between calls and their results: a long run has one message of a user',
  },
  { id: '1.37', says: 'A prompt that would begin with results begins with them as text.' },
  { id: '1.38', says: 'Results without a call become text.' },
  { id: '1.39', says: 'Calls that nobody answered get a result that says they were cancelled.' },
  { id: '1.40', says: 'Names of tools that are gone are restored, or replaced by one that says so.' },
  { id: '1.41', says: 'Tools are sent with the request and never stored in the history.' },
  {
    id: '1.42',
    says: 'Context that nobody said comes as a pair before the history and is not stored.',
  },
  { id: '1.43', says: 'A prompt says when it was written, and keeps added context apart.' },
  {
    id: '1.44',
    says: 'A tool is allowed, asked for, or denied by rules; a rule that denies always wins.',
  },
  { id: '1.45', says: 'No tool of a batch runs until all that need it are accepted.' },
  { id: '1.46', says: 'A rule that denies asks nobody, and the model gets the reason.' },
  {
    id: '1.47',
    says: 'Where nobody can answer, a tool that needs approval fails with a clear error.',
  },
  { id: '1.48', says: 'One denial answers all calls of a batch, each with its outcome.' },
  { id: '1.49', says: 'An interrupt answers the open calls, so that the history stays paired.' },
  { id: '1.50', says: 'A request is tried a few times with growing waits; an empty account is not tried again.' },
  {
    id: '1.51',
    says: 'A timeout and a cut call are answered in the conversation, a bounded number of times.',
  },
  { id: '1.52', says: 'A prompt that is too long is compacted, unless that is switched off.' },
  {
    id: '1.53',
    says: 'A short history is cut instead of summarised, and an empty one is refused.',
    otherwise: 'what is too short to compact is not cut either: the run fails, and says why',
  },
  { id: '1.54', says: 'A summary that is itself too long is tried with less, step by step.' },
  {
    id: '1.55',
    says: 'A summary is asked for without tools, with the summary before and an instruction.',
  },
  { id: '1.56', says: 'What was summarised is kept, with the time of the summary.' },
  {
    id: '1.57',
    says: 'A tangent goes back to where it began, with its last pair of messages if the user wants it.',
    otherwise: 'a tangent is a branch: a conversation of its own, so nothing has to be restored',
  },
  {
    id: '1.58',
    says: 'A checkpoint restores a history.',
    otherwise:
      'every position of a history is a checkpoint, and to restore one is to branch there: nothing is rewritten',
  },
  { id: '1.59', says: 'A task in the background is started and listed, and its end is reported.' },
  {
    id: '1.60',
    says: 'An agent can be shown whole at any moment, with its children and what it executes.',
    otherwise: 'the report says what a worker does and waits for, and worker.context() what it knows',
  },
  { id: '1.61', says: 'Hooks run around spawn, prompt, tool and stop, with bounds.' },

  {
    id: '2.1',
    says: 'The loop takes tools, a resolver, a bound, options of the model and a callback for each iteration.',
  },
  { id: '2.2', says: 'Each reply has an iteration of its own.' },
  {
    id: '2.3',
    says: 'An iteration parses, validates, guards the budget, dispatches, injects and decides, in this order.',
  },
  { id: '2.4', says: 'A stage does nothing to an iteration that has an error or a decision.' },
  {
    id: '2.5',
    says: 'A reply without calls is the answer; a blank one is asked for again, at most three times in a row.',
  },
  { id: '2.6', says: 'Unknown tools and wrong arguments are results that tell the model what is wrong.' },
  { id: '2.7', says: 'Calls of the last allowed reply do not run.' },
  {
    id: '2.8',
    says: 'What a tool throws is a result, and never the end of the run.',
    otherwise: 'a TerminalError of a tool does end the run: its author says so',
  },
  {
    id: '2.9',
    says: 'A reply is followed by one result for each of its calls.',
    otherwise: 'all calls stand in the reply, also invalid ones, as providers ask for',
  },
  { id: '2.10', says: 'The loop goes on if there are results; without results it is done.' },
  {
    id: '2.11',
    says: 'The answer is not part of the returned messages.',
    otherwise: 'the answer is part of the history, or the next run would not know it',
  },
  { id: '2.12', says: 'The trace of an iteration names what each stage did.' },
  { id: '2.13', says: 'A run returns its answer, or an error that says which limit or failure ended it.' },
  { id: '2.14', says: 'The same errors in three iterations in a row end the run.' },
  { id: '2.15', says: 'A call of a terminal tool ends the run with its arguments.' },
  { id: '2.16', says: 'A resolver offers tools, and resolves a call.' },
  {
    id: '2.17',
    says: 'A recipe runs steps one after the other, then side by side, and composes a result.',
  },
  { id: '2.18', says: 'Calls, iterations and ends are measured.' },
  { id: '2.19', says: 'Conversations are read and written in the wire forms of three providers.' },
  { id: '2.20', says: 'Kinds have names of a fixed form, and are found in a folder.' },
  {
    id: '2.21',
    says: 'Children are supervised, and a failing provider is left alone for a while.',
    part: 'supervision',
  },

  { id: '3.1', says: 'A run is in one of eleven states, with nineteen arrows between them.' },
  {
    id: '3.2',
    says: 'The states carry what belongs to them.',
    otherwise:
      'the eleven states of the design stay; what its later versions add is told by events, waits and the status of the worker',
  },
  { id: '3.3', says: 'An event that does not apply changes nothing and is counted.' },
  { id: '3.4', says: 'A failed call is tried three times again, from where it came, and then fails.' },
  { id: '3.5', says: 'Waits between tries are fixed, grow evenly, or double.' },
  {
    id: '3.6',
    says: 'A failed run stays failed.',
    otherwise: 'the failure ends the run and not the worker: the next input begins another run',
  },
  { id: '3.7', says: 'A denied call lets the model answer.' },
  { id: '3.8', says: 'Calls that need no approval are executed at once.' },
  { id: '3.9', says: 'A call is pending, approved or denied.' },
  { id: '3.10', says: 'Policies decide for a session; dangerous tools always need a person.' },
  {
    id: '3.11',
    says: 'A tool and the whole loop have a time limit, and a tool may fail three times in a row.',
    otherwise:
      'tools and calls of a model have limits of their own, a run and the failures of one tool in a row have one if its kind says so, and three iterations with the same errors end it',
  },
  { id: '3.12', says: 'Pending approvals are known by id and answered once.' },
  { id: '3.13', says: 'A call may say that the loop ends after it.' },
  {
    id: '3.14',
    says: 'An error of a tool that may pass is tried again, any other ends the run.',
    otherwise: 'the model is told of an error that tries did not mend, and only a TerminalError ends the run',
  },
  { id: '3.15', says: 'An executor without state looks a tool up and runs it.' },
  { id: '3.16', says: 'Arguments are a text, a list of texts, or any JSON.' },
  {
    id: '3.17',
    says: 'A tool may take its arguments from a pattern, and says how it is shown.',
    otherwise:
      'the schema of a tool may take a text apart by a pattern; how a call is shown is decided by whoever shows it, from events that name the tool.',
  },
  {
    id: '3.18',
    says: 'A context has branches over one pool of messages.',
    otherwise: 'branches are sessions that begin with the same messages',
  },
  {
    id: '3.19',
    says: 'A child has a context of its own, and its parent gets one result.',
    otherwise: 'the result is what the child answers; no second model call makes a summary of it',
  },
  { id: '3.20', says: 'Processors before a request may go on, change it, end it, or suspend it.' },
  { id: '3.21', says: 'Each change of state gives the state before, and the outcome of a message.' },
  { id: '3.22', says: 'Roles decide which tools there are; an empty input is refused.' },

  { id: '4.1', says: 'A message is one of six sorts, with helpers to tell them apart and its time.' },
  {
    id: '4.2',
    says: 'The size of a message is estimated in bytes of UTF-8, without ids.',
    otherwise: 'the name and output of a result count, but not its arguments: they are not sent twice',
  },
  { id: '4.3', says: 'Tokens are estimated as a quarter of the bytes of messages and tools.' },
  { id: '4.4', says: 'A reply and all its results are added together, in the order of the calls.' },
  { id: '4.5', says: 'A cleared conversation keeps its system messages.' },
  { id: '4.6', says: 'A summary replaces all messages but system messages, and says how many.' },
  { id: '4.7', says: 'The model of the agent writes the summary; without one the context stays.' },
  { id: '4.8', says: 'A history is compacted when it fills 85 % of the window.' },
  { id: '4.9', says: 'A model reads a summary as a user message that says what it is; it does not read errors.' },
  { id: '4.10', says: 'Signed and encrypted reasoning goes back only to the model that wrote it.' },
  { id: '4.11', says: 'Blocks are text, image or audio, with the first text and all texts.' },
  {
    id: '4.12',
    says: 'Inputs while busy are queued and merged; the conversation can be cleared; model, tools and effort can be switched.',
  },
  { id: '4.13', says: 'After a cancel the next input works, and late results are ignored.' },
  { id: '4.14', says: 'A request is tried again only for failures that may pass.' },
  { id: '4.15', says: 'A reply that was cut at its length is continued, a bounded number of times.' },
  {
    id: '4.16',
    says: 'Tools of a reply run side by side, and long results are kept aside with a preview.',
  },
  { id: '4.17', says: 'Why a model stopped is one of a few words, whatever its provider says.' },
  { id: '4.18', says: 'A session is a list of events from which the context is built again.' },
  { id: '4.19', says: 'Children of one call run side by side, and their results come in the order of the tasks.' },
  { id: '4.20', says: 'Tools that only read are never asked for.' },
  { id: '4.21', says: 'Tokens are counted by sort, and as a share of the window.' },
]
