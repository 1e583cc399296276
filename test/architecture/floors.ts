import { importsOf, resolveRelative } from './imports.ts'
import type { Violation } from './import-rules.ts'
import type { SourceFile } from './workspace.ts'

/** The rooms of one part of the workspace. */
export interface Building {
  /** The folder of the sources, with a trailing `/`. */
  readonly root: string
  /**
   * Floors from top to bottom. A room is a file or a folder below the root. A file belongs to the
   * innermost room that has it. Rooms on one floor do not import each other.
   */
  readonly floors: readonly (readonly string[])[]
}

/** A source may import its own room and rooms on lower floors only. */
export function wrongFloors(building: Building, files: readonly SourceFile[]): Violation[] {
  return files
    .filter((file) => file.path.startsWith(building.root))
    .flatMap((file) =>
      roomOf(building, file.path) === null
        ? [`${file.path}: is not in a room of ${building.root}`]
        : importsOf(file).flatMap((specifier) => wrongFloor(building, file, specifier)),
    )
}

function wrongFloor(building: Building, file: SourceFile, specifier: string): Violation[] {
  const target = resolveRelative(file, specifier)
  if (target === null || !target.startsWith(building.root)) return []
  const [from, to] = [roomOf(building, file.path), roomOf(building, target)]
  return from === to || floorOf(building, to) > floorOf(building, from)
    ? []
    : [`${file.path}: imports ${target}, which is not below it`]
}

/** Returns null for a file in no room. */
function roomOf({ root, floors }: Building, path: string): string | null {
  const inside = path.slice(root.length)
  const rooms = floors.flat().filter((room) => inside === room || inside.startsWith(`${room}/`))
  return rooms.toSorted((a, b) => b.length - a.length)[0] ?? null
}

function floorOf({ floors }: Building, room: string | null): number {
  return floors.findIndex((rooms) => room !== null && rooms.includes(room))
}
