/**
 * Duty: define the two tools of a model that may spawn: one starts children, the other sends a message to a live worker.
 * Owns: their schemas, their descriptions, and the orders that follow from a call. Does not own: recording (delegated-calls.ts), the results
 * (children-output.ts).
 * DELEGATION-1 Ids, senders and permissions are set here. No text of the model sets them.
 */

import { z } from 'zod'
import { type Fit, fitTo } from '../../../../core/check/schema-problems.ts'
import type { ToolSpec } from '../../../../core/definition/model.ts'
import { checkName, defaultName } from '../../../../core/definition/worker-name.ts'
import { InputError, LimitError } from '../../../../core/errors.ts'
import type { Json } from '../../../../core/history/chat/chat-message.ts'
import type { SpawnNote } from '../../../../core/history/entry.ts'
import { childId, isId, pastedId } from '../../../../core/ids.ts'
import { toJson } from '../../../../core/json.ts'
import { policy } from '../../../../core/policy.ts'
import type { Assignment, SpawnOrder } from '../../../../core/ports/ports.ts'
import { encodeGivenInput, encodeInput } from '../../../../core/worker/message/message.ts'
import {
  checkPermissions,
  encodePermissions,
  narrowPermissions,
  permissionName,
} from '../../../../core/worker/permissions.ts'
import { fitsCommit, partsMost, withMore } from '../../../turn/step/step-size.ts'

export const spawnToolName = 'spawn_workers'
export const sendToolName = 'send_message'
export const listToolName = 'list_tasks'

/** More tasks in one call would make the commit script too large. The limits of a session are usually lower. */
const tasksMax = 200

const taskSchema = z.strictObject({
  kind: z.string(),
  name: z.string().optional(),
  input: z.json(),
  facts: z.array(z.string()).optional(),
  tools: z
    .array(z.string().regex(permissionName, 'is not the name of a tool'))
    .max(policy.permissionNamesMax)
    .optional(),
  detached: z.boolean().optional(),
})
const spawnSchema = z.strictObject({ tasks: z.array(taskSchema).min(1).max(tasksMax) })
const sendSchema = z.strictObject({ to: z.string(), text: z.string().min(1) })

export type SpawnTask = z.infer<typeof taskSchema>
export type SendInput = z.infer<typeof sendSchema>

export function parseSpawn(input: unknown, kinds: readonly string[]): Fit<readonly SpawnTask[]> {
  const fit = fitTo(spawnSchema, input)
  if (!fit.ok) return fit
  const { tasks } = fit.value
  const unknown = tasks.filter(({ kind }) => !kinds.includes(kind))
  if (unknown.length > 0) {
    const names = [...new Set(unknown.map(({ kind }) => `'${kind.slice(0, 64)}'`))].join(', ')
    return { ok: false, reasons: [`kind ${names} may not be spawned; available: ${kinds.join(', ')}`] }
  }
  return { ok: true, value: tasks }
}

export function parseSend(input: unknown): Fit<SendInput> {
  return fitTo(sendSchema, input)
}

/** The tool that agents with tasks in the background have in addition. */
export const listSpec: ToolSpec = {
  name: listToolName,
  description:
    'Lists the tasks that you started in the background (detached): which still run, and how the others ended. You are told of each end without asking.',
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
}

/** The two tools as a model sees them. `endsAreSaid`: its model is told how detached children end. `describe` returns the description of a kind, or an empty text. */
export function delegationSpecs(
  kinds: readonly string[],
  describe: (kind: string) => string,
  endsAreSaid = false,
): readonly ToolSpec[] {
  const afterwards = endsAreSaid ? 'you are told when it has ended' : 'reports to nobody'
  const list = kinds.map((kind) => `- ${kind}${describe(kind) === '' ? '' : `: ${describe(kind)}`}`).join('\n')
  const text = (description: string) => ({ type: 'string', description })
  return [
    {
      name: spawnToolName,
      description: `Starts workers, one for each task, all at the same time, and returns their results in the order of the tasks. Kinds:\n${list}`,
      inputSchema: {
        type: 'object',
        properties: {
          tasks: {
            type: 'array',
            minItems: 1,
            maxItems: tasksMax,
            items: {
              type: 'object',
              properties: {
                kind: { type: 'string', enum: kinds },
                name: text('A short name for people to read.'),
                input: { description: 'What the worker is to do: all it needs to know, as text or JSON.' },
                facts: {
                  type: 'array',
                  items: { type: 'string' },
                  description: 'Names of facts that your tools set and that this worker shall receive.',
                },
                tools: {
                  type: 'array',
                  items: { type: 'string' },
                  description: "Names of the tools it may use; default: all of its kind's.",
                },
                detached: {
                  type: 'boolean',
                  description: `Do not wait for it: it works on by itself and ${afterwards}.`,
                },
              },
              required: ['kind', 'input'],
              additionalProperties: false,
            },
          },
        },
        required: ['tasks'],
        additionalProperties: false,
      },
    },
    {
      name: sendToolName,
      description: 'Sends a message to a live worker: its id, or "parent". It does not wait for an answer.',
      inputSchema: {
        type: 'object',
        properties: { to: text('Id of a worker, or "parent".'), text: text('The message.') },
        required: ['to', 'text'],
        additionalProperties: false,
      },
    },
  ]
}

export interface Delegation {
  readonly orders: readonly SpawnOrder[]
  readonly notes: readonly (SpawnNote & { readonly facts?: readonly string[] })[]
}

/** `folder` is the worker's own folder. Throws an InputError or a LimitError, which becomes the result that the model sees. */
export function delegate(
  tasks: readonly SpawnTask[],
  assignment: Assignment,
  run: number,
  callsBefore: number,
  facts: Readonly<Record<string, Json>>,
  folder: string | null,
  poolOf: (kind: string) => string,
): Delegation {
  let bytes = 0
  /** A commit holds each text once, however many children have it. */
  const texts = new Set<string>()
  const made = tasks.map((task, index) => {
    const call = callsBefore + index + 1
    const { kind, tools } = task
    const allowed = checkPermissions(narrowPermissions(assignment.permissions, { tools, folder: folder ?? undefined }))
    const detached = task.detached ?? false
    const id = childId(assignment.workerId, run, call)
    const name = checkName(task.name ?? defaultName(kind, call))
    const mail = mailOf(task, name, assignment.workerId, facts)
    const permissions = encodePermissions(allowed)
    bytes += Buffer.byteLength(mail) + (texts.has(permissions) ? 0 : Buffer.byteLength(permissions))
    texts.add(permissions)
    if (!fitsCommit(withMore({ count: 0, weight: 0, bytes }, 'spawn', index + 1))) throw tooBig(index)
    const note = {
      call,
      id,
      kind,
      name,
      ...(detached && { detached: true as const }),
      ...(task.facts && { facts: task.facts }),
    }
    return {
      order: { id, kind, name, pool: poolOf(kind), detached, call, mail, permissions },
      note,
    }
  })
  return { orders: made.map(({ order }) => order), notes: made.map(({ note }) => note) }
}

function tooBig(fitting: number): LimitError {
  const limit = `more than ${partsMost('spawn')} tasks, or ${policy.stepBytesMax} bytes of their inputs, facts and permissions, or a mix that costs as much, in one call`
  return new LimitError(
    'step_too_big',
    `${limit}: only the first ${fitting} tasks fit; make another call for the others.`,
  )
}

function mailOf(task: SpawnTask, name: string, from: string, facts: Readonly<Record<string, Json>>): string {
  const inputJson = toJson(task.input, `the input of ${name}`)
  if (task.facts === undefined || task.facts.length === 0) return encodeInput(from, inputJson)
  const passed: Record<string, Json> = Object.create(null) as Record<string, Json>
  for (const fact of task.facts) {
    const value = facts[fact]
    if (value === undefined) {
      const known = Object.keys(facts).join(', ') || 'none'
      throw new InputError(`there is no fact '${fact.slice(0, 64)}' for ${name}; known facts: ${known}.`)
    }
    passed[fact] = value
  }
  return encodeGivenInput(from, inputJson, toJson(passed, `the facts for ${name}`))
}

/** The recipient of a message. Throws an InputError, which becomes the result that the model sees. */
export function recipientOf(to: string, assignment: Assignment): string {
  const id = to === 'parent' ? assignment.parentId : pastedId(to)
  if (id === null) throw new InputError('this worker has no parent to send to.')
  if (!isId(id))
    throw new InputError(
      `'${to.slice(0, 64)}' is not the id of a worker; use an id that ${spawnToolName} returned, or "parent".`,
    )
  return id
}
