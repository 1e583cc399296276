import { relative } from 'node:path'
import { DefaultReporter, type TestModule, type TestSpecification } from 'vitest/node'
import { factorOfRun, isFullRun } from './run-size.ts'
import { areaOf, formatAreas, type Area } from './area-table.ts'
import { noteFailedFiles } from './failed-files.ts'

type Counted = 'passed' | 'failed' | 'skipped'

/**
 * Prints a line for each area as soon as its last file has ended, the errors of failed tests with
 * the command that repeats them, and a table of the areas.
 */
export class LaneReporter extends DefaultReporter {
  /** Files of each area that have not ended. */
  private readonly open = new Map<string, number>()
  private areas = new Map<string, Area>()

  constructor() {
    super({ summary: false })
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications)
    this.areas = new Map()
    this.open.clear()
    for (const { moduleId } of specifications) {
      const name = areaOf(relative(this.ctx.config.root, moduleId))
      this.open.set(name, (this.open.get(name) ?? 0) + 1)
    }
    this.log(`  ${specifications.length} files, seed ${process.env['PALISADE_SEED'] ?? ''}\n`)
  }

  /** Called by the base class when a file ends. */
  override printTestModule(module: TestModule): void {
    const name = areaOf(module.relativeModuleId)
    const none = { name, files: 0, passed: 0, failed: 0, skipped: 0, milliseconds: 0 }
    const area = this.areas.get(name) ?? none
    this.areas.set(name, area)
    area.files += 1
    area.milliseconds += module.diagnostic().duration
    const failed = area.failed
    for (const test of module.children.allTests()) area[countedAs(test.result().state)] += 1
    // A file that does not load, or whose hook fails, has no failed test.
    if (!module.ok() && area.failed === failed) area.failed += 1
    const open = (this.open.get(name) ?? 0) - 1
    this.open.set(name, open)
    if (open === 0) this.log(formatProgress(area))
  }

  /** Called by the base class after the errors of the run. */
  override reportTestSummary(_files: unknown, errors: readonly unknown[]): void {
    const modules = this.ctx.state.getTestModules()
    const failed = modules.filter((module) => !module.ok())
    for (const module of failed) this.log(formatRepeat(module))
    const run = process.env['PALISADE_TEST_RUN']
    // An error outside of a test has no file that can be repeated.
    if (run !== undefined && errors.length === 0)
      noteFailedFiles(
        run,
        failed.map(({ project, relativeModuleId: path }) => ({ project: project.name, path })),
      )
    const areas = [...this.areas.values()]
    this.log(`\n${formatAreas(areas)}\n`)
    const count = (state: Counted) => areas.reduce((sum, area) => sum + area[state], 0)
    this.log(`  ${((this.end - this.start) / 1000).toFixed(0)} s`)
    const failures = count('failed') + errors.length
    this.log(`${count('passed')} passed, ${failures} failed, ${count('skipped')} skipped`)
  }
}

function countedAs(state: string): Counted {
  return state === 'passed' || state === 'failed' ? state : 'skipped'
}

function formatProgress({ name, files, passed, failed, milliseconds }: Area): string {
  const mark = failed > 0 ? '✗' : '✓'
  const failures = failed > 0 ? `, ${failed} FAILED` : ''
  const seconds = (milliseconds / 1000).toFixed(1)
  return `  ${mark} ${name}: ${passed} passed${failures} in ${files} files, ${seconds} s`
}

function formatRepeat(module: TestModule): string {
  const command = module.project.name === 'fast' ? 'test' : 'run test:full'
  const cases = isFullRun() ? `PALISADE_CASES=${factorOfRun()} ` : ''
  const seed = `PALISADE_SEED=${process.env['PALISADE_SEED'] ?? ''}`
  return `  again: ${cases}${seed} npm ${command} -- ${module.relativeModuleId}`
}
