/**
 * The programs that a source of the tests starts: a test needs those of all sources that it
 * reaches. `source` is the beginning of a path. Programs that only some cases of a file need are
 * left out there, case by case.
 */
export const NEEDED_BY: readonly {
  readonly source: string
  readonly programs: readonly string[]
}[] = [
  {
    source: 'test/agent/sandbox/fixture/',
    programs: ['bwrap', 'ip', 'nft', 'nsenter', 'script', 'setpriv', 'perl'],
  },
  { source: 'test/agent/fixture/sandbox.ts', programs: ['bwrap', 'ip', 'nft', 'nsenter'] },
  { source: 'test/agent/fixture/small-disk.ts', programs: ['mount'] },
  { source: 'test/server/full-disk/small-disk.ts', programs: ['mount'] },
]
