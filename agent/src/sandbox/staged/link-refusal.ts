import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { realPathOrNull, statusOrNull, unlessMissing, type ViewDisk } from '../view/disk.ts'
import { isWithin, restOf } from '../view/mount-table.ts'
import { quotePath } from '../view/view-refusal.ts'
import type { PathRefusals } from './path-refusals.ts'
import type { StagedLayer, StagedWorkspace } from './staged-session.ts'

export interface LinkRefusalDeps {
  readonly refusals: PathRefusals
  readonly disk: ViewDisk
  readonly workspaces: readonly StagedWorkspace[]
  readonly layers: readonly StagedLayer[]
}

/** The limit of the kernel for one path. */
const MAX_LINKS = 40

/**
 * Why a symbolic link must not be made; null when it may. Its end is checked as text, as a real
 * path of the host, and as the path to which it leads once all changes are copied out. Each staged
 * link on that way must be granted too.
 */
export function linkRefusal(path: string, target: string, deps: LinkRefusalDeps): string | null {
  const own = endRefusal(path, target, deps)
  if (own !== null) return own
  const end = resolve(dirname(path), target)
  for (const crossed of follow(end, deps)?.crossed ?? []) {
    const refusal =
      deps.refusals.ofChange(crossed.workspace, crossed.names) ??
      endRefusal(crossed.path, crossed.target, deps)
    if (refusal !== null)
      return (
        `its target ${quotePath(target)} leads through the staged link ` +
        `${quotePath(crossed.path)}, which is refused: ${refusal}`
      )
  }
  return null
}

function endRefusal(path: string, target: string, deps: LinkRefusalDeps): string | null {
  const end = resolve(dirname(path), target)
  const targetName = `its target ${quotePath(target)}`
  // After a name that is a link itself, `..` leads elsewhere than the text says.
  const steps = target.split('/').filter((name) => name !== '' && name !== '.')
  const first = steps.findIndex((name) => name !== '..')
  if (steps.lastIndexOf('..') > first && first >= 0) return `${targetName} has \`..\` after a name`
  const real = realEnd(end, deps.disk)
  if (real === null) return `${targetName} leads to a path that no rule can name`
  const final = follow(end, deps)
  if (final === null) return `${targetName} leads through more than ${MAX_LINKS} links`
  for (const each of new Set([end, real, final.path])) {
    const refusal = deps.refusals.ofTarget(each)
    if (refusal !== null) return `${targetName} leads where policy does not: ${refusal}`
  }
  return null
}

interface StagedLink {
  readonly path: string
  readonly target: string
  readonly workspace: StagedWorkspace
  readonly names: readonly string[]
}

/**
 * The path to which another leads with all staged changes in place, and the staged links on the
 * way; null for a circle.
 */
function follow(
  path: string,
  deps: LinkRefusalDeps,
): { readonly path: string; readonly crossed: readonly StagedLink[] } | null {
  const crossed: StagedLink[] = []
  let at = '/'
  let rest = namesOf(path)
  for (let links = 0; ;) {
    const [name, ...others] = rest
    if (name === undefined) return { path: at, crossed }
    const next = join(at, name)
    const link = linkAt(next, deps)
    if (link === null) {
      at = next
      rest = others
      continue
    }
    if (links === MAX_LINKS) return null
    links += 1
    if (link.staged !== null) crossed.push(link.staged)
    rest = [...namesOf(resolve(at, link.target)), ...others]
    at = '/'
  }
}

/** The link at a path whose directory is no link. A staged object replaces that of the host. */
function linkAt(
  path: string,
  { disk, layers, workspaces }: LinkRefusalDeps,
): { readonly target: string; readonly staged: StagedLink | null } | null {
  const index = layers.findLastIndex((each) => isWithin(path, each.path))
  const [layer, workspace] = [layers[index], workspaces[index]]
  if (layer !== undefined && workspace !== undefined) {
    const rest = restOf(path, layer.path)
    const source = join(layer.upper, rest)
    const staged = unlessMissing(() => lstatSync(source, { throwIfNoEntry: false }))
    if (staged?.isSymbolicLink() === true) {
      const target = disk.readLink(source)
      return { target, staged: { path, target, workspace, names: namesOf(rest) } }
    }
    if (staged !== undefined) return null
  }
  return statusOrNull(disk, path)?.kind === 'link'
    ? { target: disk.readLink(path), staged: null }
    : null
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '')
}

/** The real path, also of one that does not exist; null when it cannot be told. */
function realEnd(path: string, disk: ViewDisk): string | null {
  let rest = ''
  for (let above = path; ; above = dirname(above)) {
    if (statusOrNull(disk, above) !== null) {
      const real = realPathOrNull(disk, above)
      return real === null ? null : join(real, rest)
    }
    if (above === '/') return null
    rest = `${above.slice(above.lastIndexOf('/'))}${rest}`
  }
}
