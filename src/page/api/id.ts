/** Duty: ids that readers paste, or that stand in the address of the page. */
import { idLength } from '../../core/ids.ts'

/** True for what may be a part of an id: it was cut off where it was copied, or it is the short form that the page shows. */
export function isPartOfId(text: string): boolean {
  return text.length < idLength && /^[0-9a-f]{8}[0-9a-f…-]*$/i.test(text)
}

/** Says that an id is not whole; null if it may be. */
export function cutIdProblem(text: string, what: 'session' | 'worker'): string | null {
  if (!isPartOfId(text)) return null
  return `${text} is only a part of the id of a ${what}: an id has ${idLength} characters, and this has ${text.length}. Copy the whole id: the page does so with the button beside it.`
}
