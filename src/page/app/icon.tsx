/** Duty: the icons of the rail, drawn in lines that take the colour of their text. */
import type { ReactNode } from 'react'

const paths = {
  now: 'M3 12h4l3-8 4 16 3-8h4',
  sessions: 'M4 6h16M4 12h16M4 18h10',
  approvals: 'M4 12.5 9.5 18 20 6.5',
  dead: 'M12 8v5m0 3.2v.3M10.3 4 3 17.2A2 2 0 0 0 4.7 20h14.6a2 2 0 0 0 1.7-2.8L13.7 4a2 2 0 0 0-3.4 0Z',
  fleet: 'M4 5h16v5H4zM4 14h16v5H4zM7.5 7.5h.01M7.5 16.5h.01',
  costs: 'M5 20V11M12 20V4M19 20v-6',
  kinds: 'M12 3 4 7.5v9L12 21l8-4.5v-9L12 3Zm0 9 8-4.5M12 12v9M12 12 4 7.5',
  webhooks: 'M4 12h11m-4.5-5 5 5-5 5M20 5v14',
  audit: 'M12 3 5 6v5c0 4.8 3 8.3 7 10 4-1.7 7-5.2 7-10V6l-7-3Zm-3 9 2.2 2.2L15.5 10',
} as const
export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  )
}
