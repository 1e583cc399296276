import { realPathOrNull, type ViewDisk } from './disk.ts'
import type { GuardedView } from './guarded-view.ts'
import { isWithin } from './mount-table.ts'

/** Whether a sandbox shows the object of a path, under that path. */
export function isShown(
  path: string,
  { areas, restricted, absent = new Set() }: Pick<GuardedView, 'areas' | 'restricted' | 'absent'>,
  disk: Pick<ViewDisk, 'realPath'>,
): boolean {
  const real = realPathOrNull(disk, path)
  if (real === null) return false
  const hidden = [
    ...restricted.flatMap((each) => (each.level === 'hidden' ? [each.path] : [])),
    ...absent,
  ]
  return [path, real].every(
    (each) =>
      areas.some((area) => isWithin(each, area.path)) &&
      !hidden.some((above) => isWithin(each, above)),
  )
}
