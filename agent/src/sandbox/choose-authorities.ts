import type { SandboxRequest } from '@palisade/protocol'
import { dirname } from 'node:path'
import type { ViewDisk } from './view/disk.ts'
import type { GuardedView } from './view/guarded-view.ts'
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
  asked: SandboxRequest['authorities'],
  view: Pick<GuardedView, 'areas' | 'held' | 'absent'>,
  disk: Pick<ViewDisk, 'realPath'>,
): ChosenAuthorities {
  const judged = (asked ?? []).map(({ paths, ...rest }) => ({
    ...rest,
    lacking: paths.find((path) => !isShown(path, view, disk)),
  }))
  return {
    variables: judged.flatMap(({ variable, value, lacking }) =>
      lacking === undefined ? [[variable, value] as const] : [],
    ),
    warnings: judged.flatMap(({ variable, lacking }) =>
      lacking === undefined ? [] : [describeLack(variable, lacking)],
    ),
  }
}

function describeLack(variable: string, path: string): string {
  return (
    `${variable} is left out, because the sandbox does not show ${quotePath(path)}; ` +
    `add ${quotePath(`--workspace ${dirname(path)}:ro`)} beside \`--workspace .\`, or install the authority below ` +
    '/usr/local/share/ca-certificates'
  )
}
