import type { SandboxRequest } from '@palisade/protocol'
import { dirname } from 'node:path'
import type { ViewDisk } from './view/disk.ts'
import type { GuardedView } from './view/guarded-view.ts'
import { isWithin } from './view/mount-table.ts'
import { isShown } from './view/shown-path.ts'
import { quotePath } from './view/view-refusal.ts'

/** The variables with certificate authorities that a command can use. */
export interface ChosenAuthorities {
  readonly variables: readonly (readonly [string, string])[]
  /** A sentence for people about each of the others. */
  readonly warnings: readonly string[]
}

/** With a file that is not there, most programs trust no authority at all, or do not start. */
export function chooseAuthorities(
  authorities: SandboxRequest['authorities'],
  view: Pick<GuardedView, 'areas' | 'restricted' | 'absent'>,
  { disk, home }: { readonly disk: Pick<ViewDisk, 'realPath'>; readonly home: string },
): ChosenAuthorities {
  const checked = (authorities ?? []).map(({ paths, ...rest }) => ({
    ...rest,
    lacking: paths.find((path) => !isShown(path, view, disk)),
  }))
  return {
    variables: checked.flatMap(({ variable, value, lacking }) =>
      lacking === undefined ? [[variable, value] as const] : [],
    ),
    warnings: checked.flatMap(({ variable, lacking }) =>
      lacking === undefined ? [] : [describeLack(variable, lacking, home)],
    ),
  }
}

/** The home directory, and one above it, is no workspace. */
function describeLack(variable: string, path: string, home: string): string {
  const directory = dirname(path)
  const advice = isWithin(home, directory)
    ? 'move it into a directory of its own, which `--workspace` can show'
    : `add ${quotePath(`--workspace ${directory}:ro`)} beside \`--workspace .\``
  return (
    `${variable} is left out, because the sandbox does not show ${quotePath(path)}; ` +
    `${advice}, or install the authority below /usr/local/share/ca-certificates`
  )
}
