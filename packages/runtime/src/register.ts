// node --import @handover/runtime/register app.js: an unchanged program follows its certificate files.
import { register } from './register/register.ts';

try {
  await register(process.env, import.meta.url);
} catch (error) {
  // The program must not start with trust that is not what its environment asks for.
  const { code = 'FAILED', message } = error as NodeJS.ErrnoException;
  process.stderr.write(`@handover/runtime/register: ${code}: ${message}\n`);
  process.exit(1);
}
