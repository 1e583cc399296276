import type { PathDenies, Steps } from '@palisade/policy-core'
import { systemErrorCode } from '../../host/errors.ts'
import { realPathOrNull, statusOrNull, type ViewDisk } from './disk.ts'
import { restrictionOf, type RestrictedPath } from './path-restriction.ts'
import { isWithin, join } from './mount-table.ts'
import type { Workspace } from './workspace.ts'

/** A name that must not come into being, with the empty object that takes its place. */
export type Placeholder = RestrictedPath
/** A guarded name that may be missing, with the kind of its object. */
export type MissingName = Pick<Placeholder, 'path' | 'kind'>

export interface PlaceholderPlanDeps {
  readonly disk: ViewDisk
  /** See `Placeholders`; such an object counts as missing. */
  readonly isHeld: (path: string) => boolean
}

/**
 * The denied paths without a wildcard in writable workspaces that do not exist, each at its first
 * missing name, and the guarded paths. A name that runs through a symbolic link is taken
 * at the end of the link.
 */
export function* planPlaceholders(
  workspaces: readonly Workspace[],
  denies: PathDenies,
  guarded: readonly MissingName[],
  deps: PlaceholderPlanDeps,
): Steps<Placeholder[]> {
  const writable = workspaces.filter(({ access }) => access === 'rw')
  const planned = new Map<string, Placeholder>()
  for (const { path, kind } of guarded)
    if (deps.isHeld(path) || deps.disk.status(path) === null)
      planned.set(path, { path, level: 'read-only', kind, isDenied: false })
  for (const literal of denies.literals) {
    yield
    const found = firstMissing(literal, deps)
    if (found === null || !writable.some((each) => isWithin(found.path, each.path))) continue
    const denial = denies.at(literal)
    const isFile = found.isLast && restrictionOf(denial.deniesAllBelow) === null
    planned.set(found.path, {
      path: found.path,
      level: (found.isLast ? restrictionOf(denial.denies) : null) ?? 'read-only',
      kind: isFile ? 'file' : 'directory',
      isDenied: true,
    })
  }
  return [...planned.values()]
}

/** The first name of a path that is missing; null when all exist, or when the agent cannot look. */
function firstMissing(
  literal: string,
  { disk, isHeld }: PlaceholderPlanDeps,
): { readonly path: string; readonly isLast: boolean } | null {
  const names = literal.split('/').slice(1)
  let above = '/'
  for (const [index, name] of names.entries()) {
    const path = join(above, `/${name}`)
    const real = isHeld(path) ? undefined : readReal(path, disk)
    if (real === null) return null
    // No path exists below a file.
    if (real === undefined)
      return statusOrNull(disk, above)?.kind === 'directory'
        ? { path, isLast: index === names.length - 1 }
        : null
    above = real
  }
  return null
}

/** Undefined when it does not exist; null when it leads to no place, or cannot be read. */
function readReal(path: string, disk: ViewDisk): string | undefined | null {
  const real = realPathOrNull(disk, path)
  if (real !== null) return real
  try {
    return disk.status(path) === null ? undefined : null
  } catch (error) {
    if (systemErrorCode(error) === null) throw error
    return null
  }
}
