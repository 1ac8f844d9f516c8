/** Duty: the list of the keys that work now. */
import type { ReactNode } from 'react'
import { useKeyGroups } from '../keys.ts'
import { Dialog } from '../parts/dialog/dialog.tsx'

export function Help({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Dialog title="Keys" onClose={onClose}>
      {useKeyGroups().map(({ title, keys }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl className="facts">
            {keys
              .filter(({ does }) => does !== '')
              .map(({ key, does }) => (
                <div key={key} className="key-row">
                  <dt>
                    {key.split(' ').map((one) => (
                      <kbd key={one}>{names[one] ?? one}</kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}

const names: Readonly<Record<string, string>> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  ' ': 'space',
}
