/**
 * Duty: the program of a thread that runs tools: load the module of each call's tool and run the tool, with its context connected to the
 * call's port. The node starts this file as a thread and never imports it.
 */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { listedTools } from '../../../core/definition/agent/tool-resolver.ts'
import { isAgentDefinition, isWorkerDefinition } from '../../../core/definition/define-worker.ts'
import { isTool, type Tool } from '../../../core/definition/tool/define-tool.ts'
import type { WorkerLog } from '../../../core/definition/worker-log.ts'
import { type Attempt, ToolAttempt } from '../attempt.ts'
import { openWorkspace } from '../workspace.ts'
import { type AbortMessage, type ThreadMessage, type ThreadOrder, toWire } from './thread-wire.ts'

parentPort?.on('message', (order: ThreadOrder) => void serve(order))

async function serve(order: ThreadOrder): Promise<void> {
  const { port } = order
  const stop = new AbortController()
  port.on('message', ({ name, message }: AbortMessage) => stop.abort(Object.assign(new Error(message), { name })))
  const attempt = await attemptOf(order, stop.signal)
  post(port, { type: 'ended', attempt: toWire(attempt) })
  port.close()
}

async function attemptOf(
  { port, moduleUrl, toolName, input, parts }: ThreadOrder,
  signal: AbortSignal,
): Promise<Attempt> {
  try {
    const tool = await findTool(moduleUrl, toolName)
    const workspace = parts.folder === null ? null : await openWorkspace(parts.folder, parts.bounds)
    const onProgress = (value: unknown) => post(port, { type: 'progress', value })
    const whole = { ...parts, signal, onProgress, log: logOver(port) }
    return await new ToolAttempt(tool, whole, signal, workspace).run(input)
  } catch (error) {
    return { kind: 'threw', error, facts: {} }
  }
}

async function findTool(moduleUrl: string, name: string): Promise<Tool> {
  let module: Record<string, unknown>
  try {
    module = (await import(moduleUrl)) as Record<string, unknown>
  } catch (cause) {
    const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
    throw new Error(`the module of tool "${name}", ${moduleUrl}, cannot be loaded in a thread: ${reason}`, { cause })
  }
  const worker = module.default
  const ofWorker = isWorkerDefinition(worker) && isAgentDefinition(worker) ? listedTools(worker.tools) : []
  const found = [...Object.values(module), ...ofWorker].find((value) => isTool(value) && value.name === name)
  if (found !== undefined) return found as Tool
  throw new Error(
    `${moduleUrl} does not export tool "${name}", and a thread needs that export: export the tool, or leave out its \`thread\`.`,
  )
}

function logOver(port: MessagePort): WorkerLog {
  const at = (level: keyof WorkerLog) => (message: string, fields?: Record<string, unknown>) => {
    try {
      post(port, { type: 'log', level, message, fields })
    } catch {
      // A field of the log line cannot be cloned. The message is logged without its fields.
      post(port, { type: 'log', level, message, fields: undefined })
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function post(port: MessagePort, message: ThreadMessage): void {
  port.postMessage(message)
}
