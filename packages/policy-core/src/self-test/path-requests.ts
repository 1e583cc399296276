import type { GlobSegment } from '../path/glob.ts'
import type { PathPattern } from '../pattern/path-pattern.ts'
import {
  FILESYSTEM_ACTIONS,
  isFilesystemAction,
  otherActions,
  type FilesystemAction,
  type Rule,
} from '../policy/policy.ts'

/** A request that may turn out to be invalid; `~` stands for the home directory. */
export interface TildeRequest {
  readonly action: FilesystemAction
  readonly path: string
}

/** Shows the reader that any other name would serve as well. */
const OTHER = 'other'

/**
 * Requests around a pattern of the rule: first the simplest match, then requests that a faulty
 * evaluator may confuse with it: paths above, below or beside it.
 */
export function pathRequests(pattern: PathPattern, rule: Rule): readonly TildeRequest[] {
  const action = filesystemAction(rule.actions[0])
  const spell = (segments: readonly string[]): string =>
    `${pattern.fromHome ? '~' : ''}/${segments.join('/')}`.replace(/^~\/$/, '~')
  const plain = fill(pattern.segments, [OTHER])
  const last = plain.at(-1)
  const paths = [
    plain,
    [...plain, OTHER],
    fill(pattern.segments, []),
    // A different name with the same beginning.
    last === undefined ? [] : [...plain.slice(0, -1), `${last}${OTHER}`],
    fill(pattern.segments, [OTHER, OTHER]),
    plain.slice(0, -1),
  ].map(spell)
  return [
    ...paths.map((path) => ({ action, path })),
    ...otherActions(action, FILESYSTEM_ACTIONS).map((other) => ({
      action: other,
      path: spell(plain),
    })),
  ]
}

function filesystemAction(action: Rule['actions'][number] | undefined): FilesystemAction {
  return isFilesystemAction(action) ? action : FILESYSTEM_ACTIONS[0]
}

/** Names for the segments of a pattern, `below` for each `**`. */
function fill(segments: readonly GlobSegment[], below: readonly string[]): readonly string[] {
  return segments.flatMap((segment) =>
    'recursive' in segment
      ? below
      : segment.pieces.join(segment.pieces.length > 1 && below.length !== 0 ? OTHER : ''),
  )
}
