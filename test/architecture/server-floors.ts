import { posix } from 'node:path'
import { importsOf, resolveRelative } from './imports.ts'
import type { Violation } from './import-rules.ts'
import type { SourceFile } from './workspace.ts'

const ROOT = 'server/src/'

/** The rooms of the server from top to bottom; rooms on one floor do not import each other. */
const FLOORS: readonly (readonly string[])[] = [
  ['main.ts'],
  ['cli'],
  ['start-server.ts', 'index.ts'],
  [
    'container.ts',
    'policy-worker.ts',
    'checkpoint-worker.ts',
    'ingest-worker.ts',
    'replay-worker.ts',
    'suggest-worker.ts',
  ],
  ['config'],
  ['fleet'],
  ['organizations', 'webhooks', 'events', 'governance', 'views', 'evidence'],
  ['identity'],
  ['http'],
  ['work'],
  ['operations'],
  ['history'],
  ['store'],
  ['platform'],
]

/** A source of the server may import its own room and rooms on lower floors only. */
export function wrongFloors(files: readonly SourceFile[]): Violation[] {
  return files
    .filter((file) => file.path.startsWith(ROOT))
    .flatMap((file) =>
      floorOf(roomOf(file.path)) === -1
        ? [`${file.path}: is not in a room of the server`]
        : importsOf(file).flatMap((specifier) => wrongFloor(file, specifier)),
    )
}

function wrongFloor(file: SourceFile, specifier: string): Violation[] {
  const target = resolveRelative(file, specifier)
  if (target === null || !target.startsWith(ROOT)) return []
  const [from, to] = [roomOf(file.path), roomOf(target)]
  return from === to || floorOf(to) > floorOf(from)
    ? []
    : [`${file.path}: imports ${target}, which is not below it`]
}

function roomOf(path: string): string {
  return posix.relative(ROOT, path).split('/')[0] ?? ''
}

function floorOf(room: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(room))
}
