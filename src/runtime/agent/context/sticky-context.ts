/**
 * Duty: what stands before the conversation of an agent and was never said: its files, as a message of the user and one of the model.
 * STICKY-1 It is part of requests alone. No history holds it.
 * STICKY-2 While the files stay as they are, it is the same two objects in each request, so the beginning of the prompt stays as it is, byte by byte.
 * STICKY-3 Without a file there is no such pair.
 */
import type { ContextSettings } from '../../../core/definition/agent/context-settings.ts'
import type { PromptMessage } from '../../../core/definition/model.ts'
import type { WorkerLog } from '../../../core/definition/worker-log.ts'
import { openWorkspace } from '../../tool/workspace.ts'
import { ContextFiles } from './context-files.ts'

const introduction =
  'These files of your folder are context for this conversation. They are shown as they are now; nobody wrote them as a message to you.'
const acknowledgement = 'I have read these files and take them into account.'
/** For how many folders the files of a kind are kept in memory. */
const foldersMax = 100

interface Folder {
  readonly files: ContextFiles
  text: string
  pair: readonly PromptMessage[]
}

/** The sticky context of one kind. */
export class StickyContext {
  readonly #settings: ContextSettings
  readonly #model: string
  readonly #folders = new Map<string | null, Folder>()

  /** Null for a kind without such files. `model`: its `provider/model`. */
  static of(settings: ContextSettings | undefined, model: string): StickyContext | null {
    return settings?.files?.length ? new StickyContext(settings, model) : null
  }

  private constructor(settings: ContextSettings, model: string) {
    this.#settings = settings
    this.#model = model
  }

  /** `bounds`: folders in which `folder` must lie. */
  async before(folder: string | null, bounds: readonly string[], log: WorkerLog): Promise<readonly PromptMessage[]> {
    const known = this.#folderOf(folder)
    let text = ''
    try {
      text = await known.files.text(folder === null ? null : await openWorkspace(folder, bounds), log)
    } catch (error) {
      known.files.leaveOut(log, error)
    }
    if (text === known.text) return known.pair
    known.text = text
    known.pair =
      text === ''
        ? []
        : [
            { role: 'user', content: [{ type: 'text', text: `${introduction}\n\n${text}` }] },
            { role: 'assistant', model: this.#model, content: [{ type: 'text', text: acknowledgement }] },
          ]
    return known.pair
  }

  #folderOf(folder: string | null): Folder {
    const known = this.#folders.get(folder)
    if (known !== undefined) return known
    if (this.#folders.size === foldersMax) this.#folders.clear()
    const made: Folder = { files: new ContextFiles(this.#settings), text: '', pair: [] }
    this.#folders.set(folder, made)
    return made
  }
}
