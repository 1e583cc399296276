import { policyDocumentJsonSchema } from '@palisade/protocol'
import type { Command } from 'commander'
import type { RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'

/** `palisade schema` */
export function addSchemaCommand(program: Command, { io }: RunContext): void {
  program
    .command('schema')
    .summary('print the JSON Schema of policy files')
    .description('Print the JSON Schema (2020-12) of policy files, for editors and checks.')
    .addHelpText(
      'after',
      `
An editor with the YAML language server reads the schema if the first line of a file is
  # yaml-language-server: $schema=palisade.schema.json
and every editor reads it if a JSON file has the member "$schema". A server has the same schema at
/api/v1/schemas/policies.json, so that its URL can replace the file name.

Examples:
  palisade schema > policies/.palisade.schema.json`,
    )
    .action(async () => {
      await write(io.stdout, `${JSON.stringify(policyDocumentJsonSchema(), null, 2)}\n`)
    })
}
