import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { realPathOrNull, statusOrNull, unlessMissing, type ViewDisk } from '../view/disk.ts'
import { isWithin, restOf } from '../view/mount-table.ts'
import { quotePath } from '../view/view-refusal.ts'
import type { PathJudge } from './judge-path.ts'
import type { StagedLayer } from './staged-session.ts'

export interface LinkJudgeDeps {
  readonly judge: PathJudge
  readonly disk: ViewDisk
  readonly layers: readonly StagedLayer[]
}

/**
 * Why a symbolic link must not be made; null when it may. The end is judged as text, as the link
 * leads once it is copied, and as a real path of the host.
 */
export function linkRefusal(path: string, target: string, deps: LinkJudgeDeps): string | null {
  const end = resolve(dirname(path), target)
  const shown = `its target ${quotePath(target)}`
  // After a name that is a link itself, `..` leads elsewhere than the text says.
  const steps = target.split('/').filter((name) => name !== '' && name !== '.')
  const first = steps.findIndex((name) => name !== '..')
  if (steps.lastIndexOf('..') > first && first >= 0) return `${shown} has \`..\` after a name`
  const crossed = stagedLinkAbove(end, deps)
  if (crossed !== null) return `${shown} leads through the staged link ${quotePath(crossed)}`
  const real = realEnd(end, deps.disk)
  if (real === null) return `${shown} leads to a path that no rule can name`
  for (const each of new Set([end, real])) {
    const refusal = deps.judge.targetRefusal(each)
    if (refusal !== null) return `${shown} leads where policy does not: ${refusal}`
  }
  return null
}

/** A directory on the way to the path that will be a link too. */
function stagedLinkAbove(path: string, { layers }: LinkJudgeDeps): string | null {
  for (let above = dirname(path); above !== '/'; above = dirname(above)) {
    const layer = layers.find((each) => isWithin(above, each.path))
    if (layer === undefined) continue
    const staged = unlessMissing(() =>
      lstatSync(join(layer.upper, restOf(above, layer.path)), { throwIfNoEntry: false }),
    )
    if (staged?.isSymbolicLink() === true) return above
  }
  return null
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
