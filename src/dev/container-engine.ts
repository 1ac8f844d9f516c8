/**
 * Duty: run a Redis in a container of Docker or Podman, if an engine answers. A client program without an engine does not count.
 * CONTAINER-ENGINE-1 The client runs in the foreground under the guard and passes signals on, so the container ends, and is removed, with its
 *                    owners.
 */
import { randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import { findProgram, runProgram } from './program.ts'
import { boundToParent, type ServerPlace, type ServerProgram, settings } from './server-program.ts'

const image = 'redis:7-alpine'
/** An engine on this machine answers within milliseconds. A client without an engine fails, or waits for an answer that never comes. */
const answerMsMax = 3_000
const pullMsMax = 300_000
const containerReadyMsMax = 60_000

/** Finds the client program of an engine that answers. */
export async function findContainerEngine(path: string): Promise<string | undefined> {
  for (const name of ['docker', 'podman']) {
    const client = await findProgram([name], path)
    if (client && (await runProgram(client, ['info'], answerMsMax)).ok) return client
  }
  return undefined
}

/** The server in a container. Undefined if its image cannot be pulled. */
export async function containerServer(
  client: string,
  path: string,
  log: (line: string) => void,
): Promise<ServerProgram | undefined> {
  if (!(await runProgram(client, ['image', 'inspect', image], answerMsMax)).ok) {
    log(`Pulling ${image} …`)
    const pulled = await runProgram(client, ['pull', '--quiet', image], pullMsMax)
    if (!pulled.ok) {
      log(`${basename(client)} cannot pull ${image}: ${pulled.output.split('\n').at(-1)}`)
      return undefined
    }
  }
  const bound = await boundToParent(path)
  return {
    how: 'container',
    name: `${image} in ${basename(client) === 'podman' ? 'Podman' : 'Docker'}`,
    readyMsMax: containerReadyMsMax,
    commandAt: (place) => ({
      ...bound(client, runArguments(place)),
      // The server binds to all interfaces of the container. The container publishes the port on loopback only.
      input: settings(place, ['bind 0.0.0.0', 'port 6379', 'dir /data']),
    }),
  }
}

function runArguments({ port, volume }: ServerPlace): readonly string[] {
  const data = volume ? ['--volume', `${volume}:/data`] : ['--tmpfs', '/data']
  const name = `troupe-redis-${randomUUID().slice(0, 8)}`
  return [
    'run',
    '--rm',
    '--interactive',
    '--name',
    name,
    '--publish',
    `127.0.0.1:${port}:6379`,
    ...data,
    image,
    'redis-server',
    '-',
  ]
}
