import type { Violation } from './import-rules.ts'
import type { SourceFile } from './workspace.ts'

/** Files that construct parts: `container.ts`, and the `compose-*.ts` of a room. */
const COMPOSING = /^(?:agent|server)\/src\/(?:[\w-]+\/)?(?:container|compose-[\w-]+)\.ts$/
/** Elsewhere, collaborators are still named; a spread of values of another kind is not meant. */
const CONSTRUCTING = /^server\/src\//

const MOST_LINES = 150

/** A spread of a name or of a member, also one that collects the rest; that of a call is a list. */
const SPREAD = /\.\.\.(?:\w+[.?!]+)*\w+(?![\w.?!(<])/
const SPREAD_OF_COLLABORATORS = /(?<!\[)\.\.\.(?:deps|sources|parts|\w+Deps)\b(?![.(])/

/** A composing file names each collaborator of each part. */
export function strayBags(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path, text }) => {
    const isComposing = COMPOSING.test(path)
    if (!isComposing && !CONSTRUCTING.test(path)) return []
    const found = (isComposing ? SPREAD : SPREAD_OF_COLLABORATORS).exec(text)
    return found === null ? [] : [`${path}: spreads \`${found[0]}\`; name what a part gets`]
  })
}

/** A composing file reads like a table of contents. */
export function longContainers(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.split('\n').length - 1
    return COMPOSING.test(path) && lines > MOST_LINES
      ? [`${path}: has ${lines} lines, and ${MOST_LINES} are the most`]
      : []
  })
}
