/** Duty: makes a connected client from flags, and closes it whatever happens. Loads the client only when a command needs it. */
import { hostname, userInfo } from 'node:os'
import type { Troupe } from '../../client/client.ts'
import type { Purpose } from '../../client/fleet/partitions.ts'
import type { Config } from '../../config.ts'
import { nameRule } from '../../core/definition/worker-name.ts'
import type { LoggerLike } from '../../log.ts'
import type { ConnectionFlags, NodeFlags } from '../options.ts'
import { tell } from '../terminal/output.ts'

/** How long a command waits for Redis before it says that there is none. */
export const connectMsMax = 3_000

/** The configuration, for a command that connects. It may start the Redis of this folder. */
export async function configOf(flags: NodeFlags): Promise<Config> {
  const { folderRedisUrl } = await import('../../config.ts')
  const config = await plainConfigOf(flags)
  return config.redisUrl === folderRedisUrl ? { ...config, redisUrl: await folderRedis(config) } : config
}

/** The configuration, for a command that connects to nothing, or that starts a Redis itself. */
export async function plainConfigOf(flags: NodeFlags): Promise<Config> {
  const { readConfig } = await import('../../config.ts')
  return readConfig(flags)
}

/** The Redis of this folder, which the demo uses too. It ends with the last process that uses it. */
async function folderRedis({ path = '' }: Config): Promise<string> {
  const { findOrStartRedis } = await import('../../dev/redis.ts')
  const { url, description } = await findOrStartRedis({ mode: 'development', path, mayInstall: false })
  tell(`troupe: using ${description}`)
  return url
}

/** Starts no Redis. If there is none, the command says that, and ends with exit code 69. */
export async function connectTo(config: Config, purpose: Purpose): Promise<Troupe> {
  const { connectInternal } = await import('../../client/client.ts')
  const { redisUrl, namespace, partitions, webhooks } = config
  const { allowPrivateAddresses } = webhooks
  const actor = whoTypes()
  return connectInternal({
    purpose,
    redisUrl,
    namespace,
    partitions,
    deadlineMs: connectMsMax,
    actor,
    webhooks: { allowPrivateAddresses },
    logger: warnings,
  })
}

/** Passes on what the client warns of while a command waits for it. If Redis goes on to refuse, the command fails with the words of the refusal. */
const warnings: LoggerLike = {
  debug: () => {},
  info: () => {},
  warn: (fields, message) => tell(`troupe: ${message}${'error' in fields ? `: ${String(fields.error)}` : ''}`),
  error: (_, message) => tell(`troupe: ${message}`),
}

export async function withTroupe<Result>(
  flags: ConnectionFlags,
  purpose: Purpose,
  use: (troupe: Troupe, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = await configOf(flags)
  await using troupe = await connectTo(config, purpose)
  return await use(troupe, config)
}

/** `<user>@<host>`; undefined if the system does not know its user, as in some containers. */
function whoTypes(): string | undefined {
  try {
    const who = `${userInfo().username}@${hostname()}`
    return nameRule.fits(who) ? who : undefined
  } catch {
    return undefined
  }
}
