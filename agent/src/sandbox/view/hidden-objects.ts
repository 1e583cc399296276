import type { PathDenies, Steps } from '@palisade/policy-core'
import { dirname } from 'node:path'
import type { AgentLog } from '../../host/agent-log.ts'
import {
  realPathOrNull,
  statusOrNull,
  statusOrRefuse,
  type DirectoryEntry,
  type ViewDisk,
} from './disk.ts'
import { everyName } from './every-name.ts'
import { topmost } from './hard-links.ts'
import type { RestrictedPath } from './path-restriction.ts'
import { HiddenList, type HiddenObject } from './hidden-list.ts'
import { isWithin } from './mount-table.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'
import { isReadDenied, type Workspace } from './workspace.ts'

/** Objects that are known at a time. The sandbox that hides more is ended. */
const MAX_OBJECTS = 2_000

/** An object that no rule denies where it is now. */
export interface FoundHidden extends RestrictedPath {
  /** The path at which it was hidden; null for one whose own name tells that it is hidden. */
  readonly from: string | null
}

/** One look at all names in the workspaces. */
interface Search {
  readonly workspaces: readonly Workspace[]
  /** Objects that are in the workspaces, and those of them that no rule denies. */
  readonly met: Set<string>
  readonly open: Set<string>
  /** A directory with a directory whose name is not UTF-8. */
  closed: string | null
}

export interface HiddenObjectsDeps {
  readonly file: string
  readonly disk: ViewDisk
  readonly log: Pick<AgentLog, 'warn'>
}

/**
 * The objects that were hidden while a sandbox ran. A rule denies their paths; but the directories
 * above them have no pins, because a program that stands below a directory would not see the masks
 * that come after its pin. So a command can rename such a directory, and no rule need deny the path
 * that the object has then. Running sandboxes keep their masks, which move with the object. Those
 * that start later hide each of these objects wherever it is.
 *
 * An object is forgotten once it is where a rule denies it, or is nowhere in its workspaces.
 */
export class HiddenObjects {
  readonly #disk: ViewDisk
  readonly #list: HiddenList

  constructor({ disk, file, log }: HiddenObjectsDeps) {
    this.#disk = disk
    this.#list = new HiddenList(file, log)
  }

  /**
   * Notes the object at a path before `owner` hides it. `stays`: until a rule denies it. Throws
   * `ViewRefusal` when there are too many.
   */
  add(owner: object, path: string, workspace: string, stays = false): void {
    const status = statusOrNull(this.#disk, path)
    const above = dirname(path)
    // A command may have put a link in the place of the directory meanwhile.
    if (status === null || realPathOrNull(this.#disk, above) !== above) return
    const all = this.#list.all()
    const object = identityOf(status)
    const known = all.get(object)
    if (known !== undefined) return this.#addTo(known, { owner, workspace, stays })
    const directory = identityOf(statusOrNull(this.#disk, above))
    // A program outside replaces a file again and again, and the former ones are gone.
    for (const each of all.values())
      if (each.path === path && each.directory === directory && !each.stays) all.delete(each.object)
    if (all.size >= MAX_OBJECTS)
      throw new ViewRefusal(`more than ${MAX_OBJECTS} names that a rule denies were made`)
    const owners = new Set([owner])
    all.set(object, { object, path, directory, workspaces: [workspace], stays, owners })
    this.#list.save()
  }

  #addTo(
    known: HiddenObject,
    by: { readonly owner: object; readonly workspace: string; readonly stays: boolean },
  ): void {
    known.owners.add(by.owner)
    if (known.workspaces.includes(by.workspace) && (known.stays || !by.stays)) return
    known.stays ||= by.stays
    known.workspaces = [...new Set([...known.workspaces, by.workspace])]
    this.#list.save()
  }

  /** Whether the object at the path is one of them. Reads nothing without objects. */
  has(path: string): boolean {
    const all = this.#list.all()
    return all.size > 0 && all.has(identityOf(statusOrRefuse(this.#disk, path)))
  }

  /** Forgets the objects of a sandbox that has ended, unless their directories were moved. */
  settle(owner: object): void {
    for (const each of this.#list.all().values()) {
      const isLast = each.owners.delete(owner) && each.owners.size === 0
      if (isLast && !each.stays && this.#isWhereFound(each)) this.#forget(each)
    }
    this.#list.saveAgain()
  }

  /**
   * The objects where no rule denies them, by one look at all names in the workspaces. Reads
   * nothing without objects. `next` throws `ViewRefusal` for a directory that cannot be read.
   */
  *find(workspaces: readonly Workspace[], denies: PathDenies): Steps<readonly FoundHidden[]> {
    const all = this.#list.all()
    this.#list.saveAgain()
    if (all.size === 0) return []
    const restricted: FoundHidden[] = []
    const search: Search = { workspaces, met: new Set(), open: new Set(), closed: null }
    for (const workspace of topmost(workspaces))
      for (const found of everyName(workspace.path, this.#disk)) {
        yield
        if (found === undefined) continue
        const { entry, path } = found
        if (entry === null) {
          search.closed ??= path
          continue
        }
        const known = this.#openAt(path, workspace, { ...search, denies })
        if (known === null) continue
        const from = known.stays ? null : known.path
        restricted.push({ path, level: 'hidden', kind: kindOf(entry), isDenied: true, from })
      }
    this.#forgetSettled(search)
    return restricted
  }

  /** The object at the path, if it is known and no rule denies it there. */
  #openAt(
    path: string,
    workspace: Workspace,
    { denies, met, open }: Search & { readonly denies: PathDenies },
  ): HiddenObject | null {
    const object = identityOf(statusOrRefuse(this.#disk, path))
    const known = this.#list.all().get(object)
    if (known === undefined) return null
    met.add(object)
    if (isReadDenied(denies, workspace, path)) return null
    open.add(object)
    return known
  }

  #forgetSettled({ closed, met, open, workspaces }: Search): void {
    const all = [...this.#list.all().values()]
    const isSeen = (workspace: string): boolean =>
      workspaces.some(({ path }) => isWithin(workspace, path))
    const gone = all.filter((each) => !met.has(each.object) && each.workspaces.every(isSeen))
    if (closed !== null && gone[0] !== undefined)
      throw new ViewRefusal(
        `a directory in ${quotePath(closed)} has a name that is not UTF-8, and may have the ` +
          `former ${quotePath(gone[0].path)}, which a rule denied; rename the directory`,
      )
    const denied = all.filter(({ object }) => met.has(object) && !open.has(object))
    for (const each of [...gone, ...denied]) if (each.owners.size === 0) this.#forget(each)
  }

  /** Resolves when the list is on disk, or could not be written. */
  async saved(): Promise<void> {
    await this.#list.saved()
  }

  #isWhereFound({ path, directory }: HiddenObject): boolean {
    const above = dirname(path)
    return (
      realPathOrNull(this.#disk, above) === above &&
      identityOf(statusOrNull(this.#disk, above)) === directory
    )
  }

  #forget({ object }: HiddenObject): void {
    this.#list.all().delete(object)
    this.#list.save()
  }
}

function kindOf(entry: DirectoryEntry): RestrictedPath['kind'] {
  return entry.isDirectory() ? 'directory' : 'file'
}

/**
 * Inodes are used again, so the time counts too. The number of a device may change when the machine
 * starts, and counts only where the file system tells no time.
 */
function identityOf(status: ReturnType<ViewDisk['status']>): string {
  if (status === null) return ''
  const { bornMs, device, inode } = status
  return bornMs > 0 ? `${inode}:${bornMs}` : `${device}:${inode}`
}
