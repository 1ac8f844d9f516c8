/**
 * A provider in a process of its own: the OpenAI chat protocol, by the script of delegation-script.ts. Nodes reach it under
 * `/<their process id>/v1`, so that it can kill the one that asks at a moment of the plan. Each reply has ids of its own, so that a reply that was
 * asked for twice can be told from the first, also by the number of its input tokens. Arguments: the file of the journal; which part of all requests
 * fails (0 to 1), by chance.
 */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { inputOf, replyOf, type ScriptReply, stepOf } from '../support/provider/delegation-script.ts'
import { type JournalLine, type WireMessage, wireText } from '../support/provider/provider-journal.ts'
import { isBusy, type Trouble, troubleFor } from '../support/provider/provider-trouble.ts'

const journal = openSync(process.argv[2] as string, 'a')
const failing = Number(process.argv[3] ?? 0)
const killed = new Set<string>()
let seq = 0

process.on('disconnect', () => {
  closeSync(journal)
  process.exit(0)
})

function write(line: JournalLine): void {
  writeSync(journal, `${JSON.stringify(line)}\n`)
  fsyncSync(journal)
}

function chunk(number: number, delta: unknown, reason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: reason }]
  return `data: ${JSON.stringify({ id: `c${number}`, object: 'chat.completion.chunk', created: 1, model: 'fake', choices })}\n\n`
}

function chunksOf(number: number, reply: ScriptReply): string[] {
  const first = chunk(number, { role: 'assistant', content: '' })
  if ('text' in reply) {
    const pieces = reply.text.match(/.{1,4}/gsu) ?? []
    return [first, ...pieces.map((content) => chunk(number, { content })), chunk(number, {}, 'stop')]
  }
  const calls = reply.calls.flatMap(({ name, args }, index) => {
    const text = JSON.stringify(args)
    const half = Math.floor(text.length / 2)
    const head = { index, id: `call_${number}_${index}`, type: 'function', function: { name, arguments: '' } }
    const part = (piece: string) => ({ index, function: { arguments: piece } })
    return [head, part(text.slice(0, half)), part(text.slice(half))].map((call) =>
      chunk(number, { tool_calls: [call] }),
    )
  })
  return [first, ...calls, chunk(number, {}, 'tool_calls')]
}

async function answer(pid: number, body: { messages: WireMessage[] }, keys: object, response: ServerResponse) {
  const { messages } = body
  const number = ++seq
  const [, kind = '', worker = ''] = /kind=(\S+) worker=(\S+)/.exec(wireText(messages[0] as WireMessage)) ?? []
  const step = stepOf(messages)
  const trouble = troubleFor(failing)
  const refused = isBusy(trouble) && { isRefused: true }
  write({ seq: number, at: Date.now(), pid, kind, worker, step, messages, keys: { ...keys }, ...refused })
  const { plan } = inputOf(messages)
  /** Kills the node that asks, once for each worker that the plan names. */
  const moment = async (when: string, ms = 0) => {
    if (plan !== `${kind}/${step}/${when}` || killed.has(worker)) return
    killed.add(worker)
    await pause(ms)
    try {
      process.kill(pid, 'SIGKILL')
      process.send?.({ killed: pid })
    } catch {
      // The process is gone already.
    }
  }
  await moment('asked')
  await pause((number * 7) % 30)
  const chunks = chunksOf(number, replyOf(kind, messages))
  const half = Math.ceil(chunks.length / 2)
  if (trouble !== null) return fail(response, trouble, chunks.slice(0, half))
  response.once('finish', () => process.send?.({ served: number }))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const text of chunks.slice(0, half)) response.write(text)
  await pause(1)
  await moment('half')
  for (const text of chunks.slice(half)) response.write(text)
  const usage = { prompt_tokens: number, completion_tokens: 5, total_tokens: number + 5 }
  response.end(`data: ${JSON.stringify({ id: `c${number}`, choices: [], usage })}\n\ndata: [DONE]\n\n`)
  for (const ms of [0, 3, 8, 20]) await moment(`told+${ms}`, ms)
}

function fail(response: ServerResponse, trouble: Trouble, half: readonly string[]): void {
  if (trouble === 'silent') return
  if (trouble === 'gone') return void response.destroy()
  if (trouble === 'cut') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    return void response.write(half.join(''), () => response.destroy())
  }
  const { status, headers } = trouble
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: { message: `status ${status}` } }))
}

const server = createServer((request, response) => {
  // The test asks whether the provider has heard everything that was sent before.
  if (request.method === 'GET') return void setImmediate(() => response.end())
  const chunks: Buffer[] = []
  response.on('error', () => {})
  request.on('error', () => {})
  request.on('data', (data: Buffer) => chunks.push(data))
  request.on('end', () => {
    const keys = Object.fromEntries(Object.entries(request.headers).filter(([name]) => /idempot/i.test(name)))
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { messages: WireMessage[] }
    answer(Number(request.url?.split('/')[1]), body, keys, response).catch((error: unknown) => {
      process.send?.({ error: String(error) })
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: String(error) } }))
    })
  })
})
// A node whose event loop is late would write into a connection that was ended for resting, and the request would never be heard.
server.keepAliveTimeout = 0
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
