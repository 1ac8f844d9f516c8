/** Duty: the API and the page of `troupe dev`, on this machine alone, at the first free port from the wanted one on. */
import type { Api, StartApiOptions } from '../../api/api.ts'
import { ConfigError } from '../../core/errors.ts'

const usualPort = 7_333
/** How many ports in a row are tried: so many are hardly ever taken. */
const portsTried = 20

export interface DevApi extends AsyncDisposable {
  readonly api: Api
  /** The wanted port, if another program has it. */
  readonly taken: number | null
}

export async function startDevApi(options: StartApiOptions): Promise<DevApi> {
  const { startApi } = await import('../../api/api.ts')
  const wanted = options.port ?? usualPort
  for (let port = wanted; ; port++) {
    try {
      const api = await startApi({ ...options, port })
      return { api, taken: port === wanted ? null : wanted, [Symbol.asyncDispose]: () => api.close() }
    } catch (thrown) {
      if (!isTaken(thrown) || port === wanted + portsTried) throw thrown
    }
  }
}

function isTaken(thrown: unknown): boolean {
  return thrown instanceof ConfigError && (thrown.cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE'
}
