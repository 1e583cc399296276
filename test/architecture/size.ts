import type { SourceFile } from './workspace.ts'

/**
 * The most lines of the sources of each part. A bound is raised only with a reason in the commit;
 * whoever makes a part smaller lowers it.
 */
const MOST_LINES: Readonly<Record<string, number>> = {
  'packages/policy-core/src/': 10_220,
  'packages/policy-analysis/src/': 5_930,
  'packages/protocol/src/': 6_810,
  'packages/client/src/': 2_780,
  'packages/cli/src/': 15_800,
  'packages/launcher/': 2_090,
  'server/src/': 51_050,
  'agent/src/': 34_030,
  'bench/src/': 7_000,
}

/** Parts with more lines than their bound, and bounds that are too high to hold anything. */
export function wrongSizes(
  files: readonly SourceFile[],
  most: Readonly<Record<string, number>> = MOST_LINES,
): string[] {
  return Object.entries(most).flatMap(([part, bound]) => {
    const lines = files
      .filter(({ path }) => path.startsWith(part))
      .reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
    if (lines > bound)
      return [`${part}: has ${lines} lines; ${bound} are the most (test/architecture/size.ts)`]
    return lines < bound * 0.98 ? [`${part}: has ${lines} lines; lower its bound of ${bound}`] : []
  })
}
