/**
 * Duty: runs agents in memory: a stand-in for a session, without Redis, durability or a model. The part of the model is played by
 * a rule: the numbered steps of the instructions are tool calls, made in order; arguments are what an earlier result holds under
 * the tool's name. Facts flow as in troupe: from tools to other tools of the run, by name to children, and up with their results.
 */
import {
  type AgentDefinition,
  type AgentWorker,
  type ChildFacts,
  type Json,
  TerminalError,
  type ToolContext,
  type ToolDefinition,
} from 'troupe'
import { z } from 'zod'
import { listedTools } from '../../../src/core/definition/agent/tool-resolver.ts'
import { openWorkspace } from '../../../src/runtime/tool/workspace.ts'
import { type Outcome, type Ran, type SessionOptions, startLimits } from './session.ts'

type Facts = Readonly<Record<string, Json>>

const messageBytesMax = 1_048_576
const nameBytesMax = 64

const tasksSchema = z.strictObject({
  tasks: z.array(
    z.strictObject({
      kind: z.string(),
      name: z.string().optional(),
      input: z.json(),
      facts: z.array(z.string()).optional(),
    }),
  ),
})
type Task = z.infer<typeof tasksSchema>['tasks'][number]

export interface AgentSessionOptions extends SessionOptions {
  /** What a model does instead of the steps of its instructions: names of tools. */
  readonly steps?: (steps: readonly string[], worker: Ran) => readonly string[]
  /** What a model makes of the tasks it is to pass on. */
  readonly tasks?: (tasks: readonly Task[], worker: Ran) => readonly Task[]
}

/** One run of one worker. */
interface Run {
  readonly worker: Ran
  readonly agent: AgentWorker
  readonly workspace: ToolContext['workspace']
  readonly given: Facts
  readonly established: Record<string, Json>
  readonly children: ChildFacts[]
  readonly results: Json[]
}

export class AgentSession {
  readonly ran: Ran[] = []
  /** Errors that tools answered with. */
  readonly errors: string[] = []
  biggestMessage = 0
  readonly #kinds: Readonly<Record<string, AgentDefinition>>
  readonly #limits: ToolContext['limits']
  readonly #options: AgentSessionOptions

  constructor(kinds: Readonly<Record<string, AgentDefinition>>, options: AgentSessionOptions = {}) {
    this.#kinds = kinds
    this.#limits = { ...startLimits, ...options.limits }
    this.#options = options
  }

  /** The value of a completed run is `{ text, facts }`. */
  run(kind: string, input: unknown): Promise<Outcome> {
    const worker = { id: 'root', kind, name: kind, depth: 0, input: this.#message(input) }
    return this.#run(worker, {}, null)
  }

  async #run(worker: Ran, given: Facts, parents: ToolContext['workspace']): Promise<Outcome> {
    this.ran.push(worker)
    const disturbed = this.#options.disturb?.(worker) ?? null
    if (disturbed !== null) return disturbed
    const agent = this.#kinds[worker.kind] as AgentWorker
    let run: Run
    try {
      const own = agent.folder?.(worker.input as Json)
      const workspace = own === undefined ? parents : own === null ? null : await openWorkspace(own)
      run = { worker, agent, workspace, given, established: {}, children: [], results: [] }
    } catch (error) {
      return { status: 'failed', value: null, failure: error instanceof Error ? error.message : String(error) }
    }
    const steps = stepsOf(agent)
    for (const name of this.#options.steps?.(steps, worker) ?? steps) {
      try {
        await this.#call(run, name)
      } catch (error) {
        if (!(error instanceof TerminalError)) throw error
        return { status: 'failed', value: null, failure: error.message }
      }
    }
    const value = this.#message({ text: `${worker.kind} is done`, facts: run.established })
    return { status: 'completed', value, failure: null }
  }

  async #call(run: Run, name: string): Promise<void> {
    this.#options.signal?.throwIfAborted()
    if (name === 'spawn_workers') {
      const found = run.results.findLast((result) => isRecord(result) && name in result)
      if (found === undefined) return
      await this.#spawn(run, tasksSchema.parse((found as Record<string, Json>)[name]).tasks)
      return
    }
    const tool = listedTools(run.agent.tools).find((each) => each.name === name) as ToolDefinition | undefined
    if (tool === undefined) throw new Error(`${run.worker.kind} has no tool ${name}`)
    const established: Record<string, Json> = {}
    try {
      const input = tool.input?.parse({})
      const output = await tool.run(
        input,
        this.#context(run, (fact, value) => Object.assign(established, { [fact]: value })),
      )
      const json = JSON.stringify(output)
      if (Buffer.byteLength(json) > (tool.outputBytesMax ?? 100_000)) throw new Error(`${name} said too much`)
      run.results.push(JSON.parse(json))
      Object.assign(run.established, this.#message(established))
    } catch (error) {
      if (error instanceof TerminalError || !(error instanceof Error)) throw error
      if (this.#options.signal?.aborted) throw error
      this.errors.push(error.message)
    }
  }

  async #spawn(run: Run, told: readonly Task[]): Promise<void> {
    const tasks = this.#options.tasks?.(told, run.worker) ?? told
    const { worker, given, established } = run
    const { depth, children, workers } = this.#limits
    if (worker.depth >= depth || tasks.length > children || this.ran.length + tasks.length > workers) {
      this.errors.push('the limits do not permit these children')
      return
    }
    const facts = { ...given, ...established }
    for (const [index, { kind, name = `${kind} ${index + 1}`, input, facts: names = [] }] of tasks.entries()) {
      if (!run.agent.spawns?.includes(kind)) throw new Error(`${worker.kind} may not spawn ${kind}`)
      if (Buffer.byteLength(name) > nameBytesMax) throw new Error(`the name ${name} is too long`)
      const id = `${worker.id}.${run.children.length + 1}`
      const child: Ran = { id, kind, name, depth: worker.depth + 1, input }
      const passed = this.#message(Object.fromEntries(names.map((fact) => [fact, facts[fact] ?? null]))) as Facts
      const { status, value, failure } = await this.#run(child, passed, run.workspace)
      const found = (value as { facts?: Facts } | null)?.facts ?? {}
      const end = failure === null ? {} : { failure }
      run.children.push({ workerId: id, name, kind, status, facts: found, given: names, ...end })
    }
  }

  #context(run: Run, setFact: ToolContext['setFact']): ToolContext {
    return toolContext({
      workerId: run.worker.id,
      depth: run.worker.depth,
      limits: this.#limits,
      input: run.worker.input as Json,
      signal: this.#options.signal ?? new AbortController().signal,
      workspace: run.workspace,
      facts: { ...run.given, ...run.established },
      children: run.children,
      setFact,
    })
  }

  /** What a message becomes on its way. */
  #message(value: unknown): unknown {
    const json = JSON.stringify(value)
    this.biggestMessage = Math.max(this.biggestMessage, Buffer.byteLength(json))
    if (Buffer.byteLength(json) > messageBytesMax) throw new Error('message_too_big')
    return JSON.parse(json)
  }
}

/** A context for a tool, with what is given. */
export function toolContext(parts: Partial<ToolContext>): ToolContext {
  return {
    workerId: 'worker',
    sessionId: 'session',
    toolCallId: 'call',
    depth: 0,
    limits: startLimits,
    input: null,
    attempt: 1,
    idempotencyKey: 'key',
    signal: new AbortController().signal,
    workspace: null,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    progress() {},
    facts: {},
    setFact() {},
    children: [],
    ...parts,
  }
}

/** The tools of the lines that begin with a number and name exactly one of the agent's tools. */
function stepsOf(agent: AgentWorker): string[] {
  const names = new Set([
    ...listedTools(agent.tools).map((tool) => tool.name),
    ...(agent.spawns ? ['spawn_workers'] : []),
  ])
  if (typeof agent.instructions !== 'string') throw new Error('these instructions are no text')
  return agent.instructions.split('\n').flatMap((line) => {
    if (!/^\d+\./.test(line)) return []
    const named = [...line.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string).filter((name) => names.has(name))
    return named.length === 1 ? named : []
  })
}

function isRecord(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
