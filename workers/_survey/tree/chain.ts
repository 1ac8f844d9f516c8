/**
 * Duty: open folders by their path below the top folder, name by name (see folder.ts). The folders on the way stay open, so that a folder nearby
 * needs only one opening, and not one for each name of its path.
 * CHAIN-1 At most `heldMax` folders are kept open, however deep the tree is.
 */
import type { OpenFolder } from './folder.ts'
import { type BytePath, namesOf } from './path.ts'

const heldMax = 12

interface Link {
  readonly name: BytePath
  /** Null after it was closed in order to open a deeper folder. */
  folder: OpenFolder | null
}

export class FolderChain {
  readonly #top: OpenFolder
  readonly #links: Link[] = []

  /** Uses the top folder. The caller closes it. */
  constructor(top: OpenFolder) {
    this.#top = top
  }

  /** Opens a folder, which stays open until the next call. Throws the error of the first name that cannot be opened. */
  reach(path: BytePath): OpenFolder {
    const names = namesOf(path)
    let same = 0
    while (same < names.length && this.#links[same]?.name === names[same]) same++
    this.#cut(same)

    let from = this.#links.length
    while (from > 0 && this.#links[from - 1]?.folder === null) from--
    let folder = this.#links[from - 1]?.folder ?? this.#top
    for (const [at, name] of names.entries()) {
      if (at < from) continue
      folder = folder.openFolder(name)
      this.#links[at] = { name, folder }
      this.#letGo(at - heldMax)
    }
    return folder
  }

  close(): void {
    this.#cut(0)
  }

  #cut(length: number): void {
    for (const link of this.#links.splice(length)) link.folder?.close()
  }

  /** Closes one of the upper folders, because a walk returns to the deep folders first. */
  #letGo(at: number): void {
    const link = this.#links[at]
    if (link === undefined || link.folder === null) return
    link.folder.close()
    link.folder = null
  }
}
