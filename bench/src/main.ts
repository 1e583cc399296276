import { runSubject } from './figures/run-subject.ts'
import { formatHelp, readOptions } from './options.ts'
import { SUBJECTS } from './subjects.ts'

const options = readOptions(process.argv.slice(2), SUBJECTS)
if (typeof options === 'string') {
  process.stderr.write(`bench: ${options}\n`)
  process.exitCode = 2
} else if (options.kind === 'help') {
  process.stdout.write(formatHelp(SUBJECTS))
} else {
  await runSubject(options.subject, options)
}
