/** Duty: recognise folders with files that others wrote: installed packages, build caches, the store of a version control system. */
import { type BytePath, namesOf } from '../tree/path.ts'

const folders = new Set(
  [
    'node_modules bower_components jspm_packages vendor site-packages dist-packages .venv venv virtualenv .tox .nox',
    '.eggs Pods Carthage .cargo .gradle .m2 .yarn .pnpm-store .git .hg .svn',
  ].flatMap((names) => names.split(' ')),
)

/** True if the file is in such a folder. */
export function isVendored(path: BytePath): boolean {
  return namesOf(path)
    .slice(0, -1)
    .some((name) => folders.has(name))
}
